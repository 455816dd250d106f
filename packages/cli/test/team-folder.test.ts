/**
 * Teams that are folders: `loadTeam`, and the commands that load `agents/` by path. Files are loaded by the command line
 * in a process of its own, so that Node loads them as it does for users.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { agent, reachableAgents, searchable, tool } from '@reeve/agent'
import { loadTeam } from '@reeve/runtime/folder'
import { supervisor } from '@reeve/supervisor'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 90_000 })

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-folder-')))
  await write({ 'package.json': '{ "type": "module" }' })
})
const children = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
}

const pay = `export default { description: 'Pays.', effect: 'once', input: { type: 'object', properties: { usd: { type: 'number' } } }, execute: () => 'paid' }`
const team = {
  'agents/support/leader.ts': `export default { model: ({ messages }) => messages.length > 2 ? 'Done.' : { calls: [{ name: 'delegate', input: { worker: 'refunds', instructions: 'Pay.' } }] }, limits: { minutes: 10 } }`,
  'agents/support/instructions.md': 'Have it paid back.\n',
  'agents/support/workers/orders.ts': `export default { description: 'Looks orders up.', model: () => 'found' }`,
  'agents/support/workers/refunds.ts': `export default { description: 'Pays money back.', model: ({ messages }) => messages.at(-1).role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input: { usd: 40 } }] }, tools: ['pay'] }`,
  'agents/support/workers/refunds.md': 'Pay exactly what the order has cost.',
  'agents/support/tools/pay.ts': pay,
}

const problems = async (args: readonly string[] = ['start', 'support', 'hi']): Promise<string> => {
  const { code, err } = await reeve(folder, ...args)
  expect(code, err).toBe(2)
  return err
}

test('K12: a team in a folder is the one that code defines: the same versions of all of its agents', async () => {
  await write(team)
  const [loaded, ...others] = await loadTeam(join(folder, 'agents'))
  expect(others).toEqual([])
  const payTool = tool({
    name: 'pay',
    description: 'Pays.',
    effect: 'once',
    input: { type: 'object', properties: { usd: { type: 'number' } } },
    execute: () => 'paid',
  })
  const refunds = agent({
    name: 'refunds',
    description: 'Pays money back.',
    instructions: 'Pay exactly what the order has cost.',
    model: () => 'x',
    tools: [payTool],
  })
  const orders = agent({ name: 'orders', description: 'Looks orders up.', model: () => 'x' })
  const inCode = supervisor({
    name: 'support',
    instructions: 'Have it paid back.',
    model: () => 'x',
    workers: [orders, refunds],
    limits: { minutes: 10 },
  })
  const versions = (each: { readonly name: string; readonly version: string }): readonly string[] => [
    each.name,
    each.version,
  ]
  expect(reachableAgents([loaded!]).map(versions)).toEqual(reachableAgents([inCode]).map(versions))
  // and another one where a file differs
  await write({ 'agents/support/workers/refunds.md': 'Pay half of it.' })
  const [changed] = await loadTeam(join(folder, 'agents'))
  expect(reachableAgents([changed!]).map(versions)).not.toEqual(reachableAgents([inCode]).map(versions))
})

test('searchable tools stand beside names of files; one that only they have is not unused', async () => {
  const reeveAgent = import.meta.resolve('@reeve/agent')
  await write({
    'agents/clerk/agent.ts': `import { searchable } from '${reeveAgent}'
import pay from './tools/pay.ts'
export default { model: 'openai/gpt-5', tools: ['look', searchable([pay])] }`,
    'agents/clerk/tools/pay.ts': `import { tool } from '${reeveAgent}'
export default tool({ name: 'pay', effect: 'once', execute: () => 'paid' })`,
    'agents/clerk/tools/look.ts': `export default { effect: 'read', execute: () => 'seen' }`,
  })
  const [loaded] = await loadTeam(join(folder, 'agents'))
  const tools = [
    tool({ name: 'look', effect: 'read', execute: () => 'seen' }),
    searchable([tool({ name: 'pay', effect: 'once', execute: () => 'paid' })]),
  ]
  expect(loaded!.version).toBe(agent({ name: 'clerk', model: 'openai/gpt-5', tools }).version)
})

test('start, work and serve take agents/ where there is no config; the store is the default one', async () => {
  await write(team)
  const started = await reeve(folder, 'start', 'support', 'It is broken.', '--yes')
  expect(started).toMatchObject({ code: 0, out: expect.stringContaining('Done.') as string })
  expect((await reeve(folder, 'runs')).out).toContain('support')
  for (const command of ['work', 'serve']) {
    const ended = await begin(folder, command === 'serve' ? ['serve', '--port', '0'] : ['work'], (out, child) => {
      children.add(child)
      if (out.includes('Ctrl-C') && !child.killed) child.kill('SIGTERM')
    })
    expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('drives support') as string })
  }
})

test('a config without agents has those of the folder beside it, with its other options', async () => {
  await write({ ...team, 'reeve.config.ts': "export const store = './own.db'\n" })
  expect(await reeve(folder, 'start', 'support', 'It is broken.', '--yes')).toMatchObject({ code: 0 })
  expect((await reeve(folder, 'runs', '--store', 'own.db')).out).toContain('support')
  expect((await reeve(folder, 'doctor')).out).toContain('support')
})

test('a folder that is one team, a single agent of a file, and a team in a team', async () => {
  await write({
    ...team,
    'agents/greeter.ts': `export default { run: async () => 'hello' }`,
    'agents/support/workers/research/leader.ts': `export default { description: 'Researches.', model: () => 'x' }`,
    'agents/support/workers/research/workers/reader.ts': `export default { description: 'Reads.', model: () => 'x' }`,
  })
  const all = await loadTeam(join(folder, 'agents'))
  expect(all.map(({ name }) => name)).toEqual(['greeter', 'support'])
  expect(reachableAgents(all).map(({ name }) => name)).toEqual(expect.arrayContaining(['research', 'reader', 'orders']))
  const [one] = await loadTeam(join(folder, 'agents', 'support'))
  expect(one!.name).toBe('support')
})

test('not loaded: tests, dotfiles, helpers, other files, and symbolic links, also to folders', async () => {
  await write({
    ...team,
    'outside/evil.ts': `process.exit(7)`,
    'outside/leader.ts': `process.exit(7)`,
    'agents/support/workers/orders.test.ts': `process.exit(7)`,
    'agents/support/workers/.hidden.ts': `process.exit(7)`,
    'agents/support/workers/_shared.ts': `process.exit(7)`,
    'agents/support/workers/types.d.ts': `process.exit(7)`,
    'agents/notes/readme.md': 'no agent',
    'agents/support/workers/data.json': '{',
  })
  await symlink(join(folder, 'outside', 'evil.ts'), join(folder, 'agents', 'support', 'workers', 'evil.ts'))
  await symlink(join(folder, 'outside'), join(folder, 'agents', 'evil'))
  await symlink(join(folder, 'outside', 'evil.ts'), join(folder, 'agents', 'support', 'tools', 'evil.ts'))
  expect(await reeve(folder, 'start', 'support', 'x', '--yes')).toMatchObject({ code: 0 })
})

test('agents/ that is a symbolic link, or has no definition, is no config', async () => {
  await write({ 'elsewhere/a.ts': `process.exit(7)`, 'agents/readme.md': 'x' })
  expect(await problems(['start', 'a', 'x'])).toContain('config not found')
  await rm(join(folder, 'agents'), { recursive: true })
  await symlink(join(folder, 'elsewhere'), join(folder, 'agents'))
  expect(await problems(['start', 'a', 'x'])).toContain('config not found')
})

describe('what is wrong is told with its file, all at once', () => {
  test('many files', async () => {
    await write({
      ...team,
      'agents/support/leader.ts': `export default { model: 'nothing', workers: [] }`,
      'agents/support/workers/orders.ts': `export const orders = {}`,
      'agents/support/workers/no-words.ts': `export default { model: () => 'x' }`,
      'agents/support/workers/9lives.ts': `export default {}`,
      'agents/support/workers/refunds.js': `export default {}`,
      'agents/support/workers/other.ts': `export default { name: 'another', description: 'x', model: () => 'x' }`,
      'agents/support/workers/asks.ts': `export default { description: 'x', model: () => 'x', tools: ['fly'] }`,
      'agents/support/workers/typo.ts': `export default { description: 'x', model: () => 'x', sytem: 'x' }`,
      'agents/support/workers/syntax.ts': `export default {\n  model: 1\n  x: 2 }`,
      'agents/support/tools/unused.ts': pay,
      'agents/support/tools/bad.ts': `export default { execute: 1 }`,
    })
    const err = await problems()
    const workers = (file: string): string => join('support', 'workers', file)
    for (const line of [
      `${join('support', 'leader.ts')}: has workers; those of a leader are the files in workers/`,
      `${workers('orders.ts')}: has no default export`,
      `${workers('no-words.ts')}: worker "no-words" has no description`,
      `${workers('9lives.ts')}: "9lives" is no name of an agent`,
      `an agent "refunds" is defined by refunds.js, too`,
      `${workers('other.ts')}: exports "another" from other.ts, expected the name "other"`,
      `${workers('asks.ts')}: names the tool "fly", which no file in tools/ defines; there are: bad, pay, unused`,
      `${workers('syntax.ts')}: could not be loaded: Expected ',', got 'ident' (${join(folder, 'agents', workers('syntax.ts'))}:3)`.replaceAll(
        `${join(folder, 'agents')}/`,
        '',
      ),
      `${join('support', 'tools', 'bad.ts')}: `,
    ])
      expect(err).toContain(line)
    expect(err).not.toContain('node:internal')
  })

  test('a tool that no agent has, a leader of nobody, files without one who leads', async () => {
    await write({
      ...team,
      'agents/support/tools/unused.ts': pay,
      'agents/alone/leader.ts': `export default { model: () => 'x' }`,
      'agents/lost/workers/a.ts': `export default { description: 'x', model: () => 'x' }`,
      'agents/both/leader.ts': `export default {}`,
      'agents/both/agent.ts': `export default {}`,
      'agents/led/agent.ts': `export default { model: () => 'x' }`,
      'agents/led/workers/b.ts': `export default { description: 'x', model: () => 'x' }`,
    })
    const err = await problems()
    expect(err).toContain(`${join('support', 'tools', 'unused.ts')}: no agent has the tool: name it, tools: ['unused']`)
    expect(err).toContain(`${join('alone', 'leader.ts')}: leads nobody`)
    expect(err).toContain('lost: has neither leader.ts nor agent.ts')
    expect(err).toContain('both: has both leader.ts and agent.ts')
    expect(err).toContain(`${join('led', 'agent.ts')}: has workers/ beside it`)
  })

  test('two agents of one name anywhere, and instructions twice', async () => {
    await write({
      ...team,
      'agents/refunds.ts': `export default { model: () => 'x' }`,
    })
    expect(await problems()).toMatch(/an agent "refunds" is defined by .*, too; names are unique in the whole folder/)
    await write({
      'agents/refunds.ts': `export default { model: () => 'x', instructions: 'x' }`,
      'agents/refunds.md': 'y',
    })
    expect(await problems()).toContain('refunds.ts: has instructions, and refunds.md has some, too')
  })

  test('files that import each other and use what is not made yet', async () => {
    await write({
      'agents/a.ts': `import b from './b.ts'\nexport default { model: () => 'x', description: b.description }`,
      'agents/b.ts': `import a from './a.ts'\nexport default { model: () => 'x', description: a.description }`,
    })
    expect(await problems(['start', 'a', 'x'])).toMatch(
      /a\.ts: could not be loaded: .*b\.ts:2\); these files import each other: a\.ts → b\.ts → a\.ts/,
    )
  })
})

test('a finished agent under the name of its file, beside which nothing else stands', async () => {
  const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
  const made = (name: string): string =>
    `import { agent } from ${source}\nexport default agent({ name: '${name}', run: () => 'hi' })`
  await write({ 'agents/made.ts': made('made') })
  expect(await reeve(folder, 'start', 'made', 'x')).toMatchObject({
    code: 0,
    out: expect.stringContaining('hi') as string,
  })
  await write({ 'agents/made.ts': made('other') })
  expect(await problems(['start', 'made', 'x'])).toContain('expected the name "made"')
  await write({ 'agents/made.ts': made('made'), 'agents/made.md': 'Instructions.' })
  expect(await problems(['start', 'made', 'x'])).toContain(
    'exports a finished agent, so made.md beside it would not count',
  )
})

test('dev starts again when a file is added, changed and removed, also in a folder that is new', async () => {
  await write(team)
  let said = ''
  const dev = spawn(process.execPath, [join(import.meta.dirname, '..', 'src', 'main.ts'), 'dev', '--port', '0'], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(dev)
  for (const stream of [dev.stdout, dev.stderr]) stream.on('data', (piece: Buffer) => (said += piece.toString()))
  /** Waits until it runs, after what has been said so far. */
  let seen = 0
  const running = (...what: readonly string[]): Promise<void> =>
    vi.waitFor(
      () => {
        const now = said.slice(seen)
        for (const each of [...what, 'Ctrl-C']) expect(now, said).toContain(each)
        seen = said.length
      },
      { timeout: 40_000, interval: 20 },
    )
  await running('drives support')
  await write({ 'agents/greeter.ts': `export default { run: async () => 'hello' }` })
  await running('drives greeter', 'greeter.ts has changed')
  await write({ 'agents/support/instructions.md': 'Other words.' })
  await running('instructions.md has changed')
  await mkdir(join(folder, 'agents', 'crew', 'workers'), { recursive: true })
  await write({
    'agents/crew/workers/hand.ts': `export default { description: 'x', model: () => 'x' }`,
    'agents/crew/leader.ts': `export default { model: () => 'x' }`,
  })
  await running('drives crew')
  await rename(join(folder, 'agents', 'crew'), join(folder, 'crew'))
  await vi.waitFor(() => {
    const last = said.slice(said.lastIndexOf('has changed'))
    expect(last, said).toContain('Ctrl-C')
    expect(last).not.toContain('drives crew')
  }, 40_000)
  seen = said.length
  await rm(join(folder, 'agents', 'greeter.ts'))
  await running('greeter.ts has changed')
  expect(said.slice(said.lastIndexOf('has changed'))).not.toContain('drives greeter')
})
