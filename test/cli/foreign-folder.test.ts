/** A folder that somebody else has made: where the command line writes, and what it refuses to take for a store. */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRuntime } from '../../src/index.ts'
import { reeve } from './command.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-foreign-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a .reeve that is a link is not written through: the demo writes in the folder that it is given, and nowhere else', async () => {
  const elsewhere = join(folder, 'elsewhere')
  const given = join(folder, 'given')
  await mkdir(elsewhere)
  await mkdir(given)
  await writeFile(join(given, 'a.js'), 'x')
  await symlink(elsewhere, join(given, '.reeve'))
  const ended = await reeve(folder, 'demo', given, '--yes')
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('.reeve is a link') as string })
  expect(await readdir(elsewhere)).toEqual([])
  expect(await reeve(given, 'runs')).toMatchObject({ code: 2 })
})

test('an address is no store: it is said what a store is, without the password, and nothing is created', async () => {
  const made = createRuntime({ store: 'postgres://me:secret@db.example/reeve' })
  await expect(made).rejects.toMatchObject({ code: 'config.invalid', hint: expect.stringContaining('engine: restate(') as string })
  await expect(createRuntime({ store: 'https://me:secret@db.example' })).rejects.toThrow(
    /^(?!.*secret)createRuntime: store is an address \(https:/,
  )
})
