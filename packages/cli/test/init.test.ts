/** `reeve init`: what it writes, and that it overwrites nothing. The projects themselves run in `npm run examples`. */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listPrices } from '@reeve/model'
import { main } from '../src/program.ts'
import { installedFrom, packageName, providerOf, providers, templates } from '../src/project.ts'
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
    for (const file of theirs.filter((each) => each !== 'model.ts'))
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

test('at a terminal it asks for folder, template and provider, by number or name; Enter takes the first', async () => {
  expect(await init([], 'a', '2', 'openai')).toMatchObject({
    code: 0,
    out: expect.stringContaining('✓ approvals') as string,
  })
  expect(await init(['b'], ' planned ', '')).toMatchObject({
    code: 0,
    out: expect.stringContaining('✓ planned') as string,
  })
  expect(await init([], '', '', ' 1 ')).toMatchObject({ code: 0, out: expect.stringContaining('cd my-team') as string })
  for (const answers of [
    ['c', '9', ''],
    ['c', 'constructor', ''],
    ['c', '1', 'toString'],
  ])
    expect(await init([], ...answers)).toMatchObject({
      code: 2,
      err: expect.stringContaining('Nothing was written. One of: ') as string,
    })
  expect((await readdir(folder)).toSorted()).toEqual(['a', 'b', 'my-team'])
})

test('without a terminal it takes chat, without a provider', async () => {
  expect(await init(['c'])).toMatchObject({ code: 0, out: expect.stringContaining('✓ chat') as string })
  const { dependencies } = JSON.parse(await readFile(join(folder, 'c', 'package.json'), 'utf8')) as {
    readonly dependencies: object
  }
  expect(Object.keys(dependencies)).toEqual(['reeve', 'zod'])
})

test('what is asked can be interrupted: nothing is written', async () => {
  const left = new AbortController()
  const terminal = fakeTerminal({ answers: ['1'] })
  const code = await main(['init'], {
    terminal: {
      ...terminal,
      ask: () => {
        left.abort('SIGINT')
        return Promise.reject(new DOMException('Aborted', 'AbortError'))
      },
    },
    cwd: folder,
    interrupted: left.signal,
    version: '1.2.3',
  })
  expect(code).toBe(130)
  expect(await readdir(folder)).toEqual([])
})

test.each([
  ['none', [], '{}'],
  ['openai', ['@ai-sdk/openai'], "{ OPENAI_API_KEY: 'openai/gpt-5-mini' }"],
  ['anthropic', ['@ai-sdk/anthropic'], "{ ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5-5' }"],
])('with the provider %s a project has its package alone, and its model', async (provider, packages, table) => {
  for (const template of Object.keys(templates)) {
    const { code } = await init([template, '--template', template, '--model', provider])
    expect(code).toBe(0)
    const model = await readFile(join(folder, template, 'model.ts'), 'utf8')
    expect(model.match(/^const models.*$/m)![0]).toBe(`const models: Readonly<Record<string, string>> = ${table}`)
    const { dependencies } = JSON.parse(await readFile(join(folder, template, 'package.json'), 'utf8')) as {
      readonly dependencies: object
    }
    expect(Object.keys(dependencies).filter((name) => /^@ai-sdk\/(?!react$)/.test(name))).toEqual(packages)
  }
})

test('the price of each model that a project may have is known: limits in dollars can be kept', () => {
  const models = (Object.keys(providers) as (keyof typeof providers)[]).flatMap((each) => providerOf(each).model ?? [])
  expect(Object.keys(listPrices)).toEqual(expect.arrayContaining(models))
  expect(models.length).toBeGreaterThan(1)
})

test.each([
  ['', 'is empty'],
  ['a\u001b[2J', 'has control characters'],
  ['x'.repeat(201), 'is longer than 200 characters'],
  [join('node_modules', 'x'), 'is inside node_modules'],
])('the folder %j is refused, as it %s', async (name, why) => {
  expect(await init([name])).toMatchObject({ code: 2, err: expect.stringContaining(why) as string })
  expect(await readdir(folder)).toEqual([])
})

test('npm install gets the file that this Reeve was installed from, if there is one', async () => {
  const modules = join(folder, 'node_modules')
  const lock = (resolved: unknown): Promise<void> =>
    writeFile(join(modules, '.package-lock.json'), JSON.stringify({ packages: { 'node_modules/reeve': { resolved } } }))
  await mkdir(join(modules, 'reeve'), { recursive: true })
  expect(installedFrom(join(modules, 'reeve'))).toBeUndefined()
  await lock('file:../packed/reeve-0.2.0.tgz')
  expect(installedFrom(join(modules, 'reeve'))).toEqual({ file: join(folder, '..', 'packed', 'reeve-0.2.0.tgz') })
  await lock('https://registry.npmjs.org/reeve/-/reeve-0.2.0.tgz')
  expect(installedFrom(join(modules, 'reeve'))).toEqual({ url: 'https://registry.npmjs.org/reeve/-/reeve-0.2.0.tgz' })
  await writeFile(join(modules, '.package-lock.json'), '{')
  expect(installedFrom(join(modules, 'reeve'))).toBeUndefined()
})

test.each([
  ['My Team', 'my-team'],
  ['_ü_', 'team'],
  ['@scope', 'scope'],
  ['Reeve', 'reeve-team'],
])('a folder called %s is a package called %s', (name, expected) => {
  expect(packageName(name)).toBe(expected)
})
