/** `channels` of a config: whoever drives runs tells people, whoever only looks does not. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type RuntimeOptions } from '@reeve/public'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder = ''
const children = new Set<ChildProcess>()
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-channels-')))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true })
})

const source = (path: string): string => JSON.stringify(join(import.meta.dirname, '..', '..', path))
const configured = (channels: string): Promise<void> =>
  writeFile(
    join(folder, 'reeve.config.ts'),
    `
import { appendFileSync } from 'node:fs'
import { agent, approve } from ${source('public/src/index.ts')}
import { terminal } from ${source('notify/src/index.ts')}
export const store = './own.db'
export const agents = [
  agent({
    name: 'asker',
    description: 'Asks.',
    oversight: { approval: { notify: ['paper'] } },
    run: async (ctx) => (await approve(ctx, { tool: 'pay', toolVersion: '1', input: 1, reason: 'money', rules: { notify: ['paper'] } })).approved,
  }),
]
${channels}
`,
  )
const paper = `export const channels = [
  terminal({ name: 'paper', write: (text) => appendFileSync(new URL('./notes', import.meta.url), text), config: 'reeve.config.ts' }),
]`
const notes = (): Promise<string> => readFile(join(folder, 'notes'), 'utf8').catch(() => '')

/** Begins a run, as a process does that drives none. */
async function started(): Promise<string> {
  const { agents } = (await import(join(folder, 'reeve.config.ts'))) as {
    agents: NonNullable<RuntimeOptions['agents']>
  }
  await using runtime = await createRuntime({ store: join(folder, 'own.db'), agents, drive: false })
  return (await runtime.start('asker', 'go')).id
}

describe('channels of a config', () => {
  test('reeve work tells over them, with a command that decides as it stands', async () => {
    await configured(paper)
    const id = await started()
    const end = begin(folder, ['work'], (_out, child) => children.add(child))
    await expect.poll(notes, { timeout: 20_000 }).toMatch(/Decide: reeve approve/)
    const [, command] = /Decide: reeve (.*)/.exec(await notes())!
    expect(await reeve(folder, ...command!.split(' '))).toMatchObject({ code: 0 })
    await expect
      .poll(async () => (await reeve(folder, 'show', id, '--json', '--config', 'reeve.config.ts')).out, {
        timeout: 20_000,
      })
      .toContain('"completed"')
    const events = await reeve(folder, 'events', id, '--config', 'reeve.config.ts')
    expect(events.out).toMatch(/asker notified paper of apr_/)
    expect(events.out).not.toMatch(/notice:/)
    expect((await reeve(folder, 'show', id, '--config', 'reeve.config.ts')).out).not.toMatch(/notice/)
    for (const child of children) child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0 })
    expect((await notes()).match(/Decide:/g)).toHaveLength(1)
  })
  test('reeve resume tells over them, too', async () => {
    await configured(paper)
    const id = await started()
    expect(await reeve(folder, 'resume', id)).toMatchObject({ code: 3 })
    expect(await notes()).toMatch(/Decide: reeve approve/)
  })
  test('what is no list, and a name that is not among them, are refused before anything runs', async () => {
    await configured('export const channels = 5')
    await started()
    expect(await reeve(folder, 'work')).toMatchObject({
      code: 2,
      err: expect.stringContaining('are not an array') as string,
    })
    await configured('export const channels = []')
    expect(await reeve(folder, 'work')).toMatchObject({
      code: 2,
      err: expect.stringContaining('the channel "paper", which is not registered') as string,
    })
    expect(await notes()).toBe('')
  })
})
