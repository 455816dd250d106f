/** `reeve init`: what it writes, and that it overwrites nothing. The projects themselves run in `npm run examples`. */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { main } from '../src/program.ts'
import { packageName, templates } from '../src/project.ts'
import { fakeTerminal } from './fake-terminal.ts'

const root = join(import.meta.dirname, '..', '..', '..')
let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-init-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function init(
  args: readonly string[],
  ...answers: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const asking = { ...terminal, canAsk: answers.length > 0, ask: async () => answers.shift() ?? '' }
  const code = await main(['init', ...args], {
    terminal: asking,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1.2.3',
  })
  return { code, out: terminal.written, err: terminal.notes }
}

const filesIn = async (place: string): Promise<readonly string[]> =>
  (await readdir(place, { recursive: true, withFileTypes: true }))
    .filter((each) => each.isFile())
    .map((each) => relative(place, join(each.parentPath, each.name)))
    .toSorted()

test.each(Object.keys(templates))(
  '%s: the files of the template, with exact versions and the next commands',
  async (name) => {
    const { code, out } = await init(['My Team', '--template', name])
    expect(code).toBe(0)
    expect(out).toContain("cd 'My Team'\n  npm install\n  npm test")
    const theirs = await filesIn(join(root, 'templates', name))
    const written = await filesIn(join(folder, 'My Team'))
    expect(written).toEqual([...new Set([...theirs, '.gitignore', 'package.json', 'tsconfig.json'])].toSorted())
    for (const file of theirs)
      expect(await readFile(join(folder, 'My Team', file), 'utf8')).toBe(
        await readFile(join(root, 'templates', name, file), 'utf8'),
      )
    const manifest = JSON.parse(await readFile(join(folder, 'My Team', 'package.json'), 'utf8')) as {
      readonly [part: string]: Readonly<Record<string, string>>
    }
    const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string }
    expect(manifest).toMatchObject({ name: 'my-team', type: 'module', dependencies: { reeve: own.version } })
    for (const version of Object.values({ ...manifest['dependencies'], ...manifest['devDependencies'] }))
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(Object.keys(manifest['scripts']!)).toEqual(expect.arrayContaining(['dev', 'start', 'test']))
    // every program that a script or the page names is there
    const page = await readFile(join(folder, 'My Team', 'README.md'), 'utf8')
    for (const [, file] of `${Object.values(manifest['scripts']!).join('\n')}\n${page}`.matchAll(/([\w.]+\.ts)\b/g))
      expect(theirs).toContain(file)
    for (const [, script] of page.matchAll(/npm run (\w+)/g)) expect(manifest['scripts']).toHaveProperty(script!)
  },
)

test('which model decides is written once: all templates have the same file', async () => {
  const [one, ...others] = await Promise.all(
    Object.keys(templates).map((name) => readFile(join(root, 'templates', name, 'model.ts'), 'utf8')),
  )
  for (const other of others) expect(other).toBe(one)
})

test('what stands in the way is named, a link that leads nowhere too, and nothing is written', async () => {
  await mkdir(join(folder, 'app'))
  await writeFile(join(folder, 'app', 'team.ts'), 'mine')
  await symlink('nowhere', join(folder, 'app', 'README.md'))
  const { code, err } = await init(['app', '--template', 'chat'])
  expect(code).toBe(2)
  expect(err).toContain('README.md, team.ts are in')
  expect(err).toContain('Nothing was written')
  expect((await readdir(join(folder, 'app'))).toSorted()).toEqual(['README.md', 'team.ts'])
  expect(await readFile(join(folder, 'app', 'team.ts'), 'utf8')).toBe('mine')
  await writeFile(join(folder, 'file'), '')
  expect(await init(['file', '--template', 'chat'])).toMatchObject({ code: 2 })
})

test('without a template: a terminal is asked, by number or name; elsewhere the error lists them', async () => {
  expect(await init(['a'], '2')).toMatchObject({ code: 0, out: expect.stringContaining('✓ approvals') as string })
  expect(await init(['b'], ' planned ')).toMatchObject({ code: 0, out: expect.stringContaining('✓ planned') as string })
  for (const wrong of [await init(['c'], '9'), await init(['c'], 'constructor'), await init(['c', '--template', 'x'])])
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringContaining('chat, approvals, research, planned') as string,
    })
  expect(await init(['c'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--template chat|approvals|research|planned') as string,
  })
  expect((await readdir(folder)).toSorted()).toEqual(['a', 'b'])
})

test.each([
  ['My Team', 'my-team'],
  ['_ü_', 'team'],
  ['@scope', 'scope'],
])('a folder called %s is a package called %s', (name, expected) => {
  expect(packageName(name)).toBe(expected)
})
