/** `reeve demo` end to end, as processes, over a folder whose every finding is known. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { comparableReport } from '../../demo/src/survey/index.ts'
import { demoAgents } from '../../demo/src/team.ts'
import { surveys } from '../../demo/src/survey/surveys.ts'
import { settingsInput } from '../../demo/src/settings.ts'
import { createRuntime, type RunView } from '@reeve/runtime'
import { knownFolder, raw } from '../../demo/test/folder.ts'
import { begin, lines, reeve } from './command.ts'

// each command is a process of its own
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let base = ''
let folder = ''
/** A fresh copy of the known folder, always of the same name: a report's title has it. */
async function copy(name: string): Promise<string> {
  const path = join(base, name, 'shop')
  const known = await knownFolder()
  await mkdir(join(base, name))
  await cp(known.path, path, { recursive: true, verbatimSymlinks: true })
  await rm(join(path, 'REPORT.md'), { force: true })
  await known.remove()
  return path
}
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'reeve-demo-')))
  folder = await copy('first')
})
afterEach(() => rm(base, { recursive: true, force: true }))

const report = (at = folder): Promise<string> => readFile(join(at, 'REPORT.md'), 'utf8')
const shown = async (run: string, at = folder): Promise<RunView> =>
  JSON.parse((await reeve(at, 'show', run, '--json')).out) as RunView

describe('the main job', () => {
  test('surveys, recruits, waits for approval, writes after it', async () => {
    const first = await reeve(folder, 'demo', '.', '--run', 'run_a')
    expect(first).toMatchObject({ code: 3, err: '' })
    expect(first.out).toContain('leader: rules (no model)')
    expect(first.out).toContain('surveyor recruits monorepo: the folder is a workspace (npm) with 2 members')
    await expect(report()).rejects.toThrow('ENOENT')
    const view = await shown('run_a')
    expect(view).toMatchObject({ status: 'waiting', approvals: [{ tool: 'write_report', open: true }] })
    expect(view.recruits.map(({ worker }) => worker)).toEqual(['monorepo'])
    const { id } = view.approvals[0]!
    expect(first.out).toContain(`reeve approve ${id}`)
    expect(first.out).toContain('reeve resume run_a')
    expect(await reeve(folder, 'approve', id, '--approver', 'ann', '--comment', 'go on')).toMatchObject({ code: 0 })
    await expect(report()).rejects.toThrow('ENOENT')
    expect(await reeve(folder, 'resume', 'run_a')).toMatchObject({ code: 0 })
    const text = await report()
    expect(text).toContain('Needs attention: 3 soon and 6 minor.')
    expect(text).toContain('- 1 declared dependency without an entry in the lock file: `ghost` at `package.json:15`')
    expect(text).toContain('- monorepo, because')
    for (const secret of Object.values(raw)) expect(text).not.toContain(secret)
    expect(await shown('run_a')).toMatchObject({
      status: 'completed',
      approvals: [{ resolution: 'approved', approver: 'ann', comment: 'go on' }],
    })
  })

  test('workers of one turn work at the same time', async () => {
    await reeve(folder, 'demo', '--run', 'run_a', '--yes')
    const types = lines((await reeve(folder, 'events', 'run_a', '--json')).out).map(
      ({ event }) => (event as { type: string }).type,
    )
    const firstEnd = types.indexOf('worker.settled')
    expect(types.slice(0, firstEnd).filter((type) => type === 'worker.started')).toHaveLength(4)
  })

  test('--yes writes at once; --json is NDJSON; the same id again is the same run', async () => {
    const first = await reeve(base, 'demo', folder, '--yes', '--json', '--run', 'run_a')
    expect(first).toMatchObject({ code: 0, err: '' })
    const events = lines(first.out)
    const positions = events.map(({ position }) => Number(position))
    expect(positions).toEqual([...positions].sort((a, b) => a - b))
    expect(events.at(-1)).toMatchObject({ event: { type: 'activation.settled', outcome: { status: 'completed' } } })
    const again = await reeve(base, 'demo', folder, '--yes', '--json', '--run', 'run_a')
    expect(again).toMatchObject({ code: 0, out: first.out })
    expect(await readdir(join(folder, '.reeve'))).toContain('.gitignore')
    expect((await readdir(join(folder, '.reeve'))).filter((name) => name.endsWith('.md'))).toEqual([])
  })

  test('a rejection writes nothing, and the run says so', async () => {
    await reeve(folder, 'demo', '--run', 'run_a')
    const { id } = (await shown('run_a')).approvals[0]!
    expect(await reeve(folder, 'reject', id, '--reason', 'not today')).toMatchObject({ code: 0 })
    const end = await reeve(folder, 'resume', 'run_a')
    expect(end).toMatchObject({ code: 0 })
    expect(end.out).toContain('REPORT.md was not written')
    await expect(report()).rejects.toThrow('ENOENT')
  })

  test('a failed survey becomes a section of the report and holds up no other', async () => {
    const agents = demoAgents(
      { folder },
      { ...surveys, todos: () => Promise.reject(new Error('the disk has a scratch')) },
    )
    await using runtime = await createRuntime({ agents, strict: true })
    const run = await runtime.start(
      'surveyor',
      settingsInput({ folder, run: 'run_a', at: '2026-01-01T00:00:00.000Z' }),
      { runId: 'run_a' },
    )
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    await run.decide({ approvalId: approval!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: '4 areas examined, 1 could not be. The report is in shop/REPORT.md.',
    })
    expect(await report()).toContain('This area could not be examined: the disk has a scratch')
  }, 20_000)
})

describe('two terminals', () => {
  test('who decides first wins, the other is told', async () => {
    await reeve(folder, 'demo', '--run', 'run_a')
    const { id } = (await shown('run_a')).approvals[0]!
    const both = await Promise.all([reeve(folder, 'approve', id), reeve(folder, 'reject', id)])
    expect(both.map(({ code }) => code)).toEqual(expect.arrayContaining([0, 2]))
    expect(both.find(({ code }) => code === 2)?.err).toContain('already decided')
    expect((await reeve(folder, 'resume', 'run_a')).code).toBe(0)
    const isWritten = both[0]?.code === 0
    expect(
      await report().then(
        () => true,
        () => false,
      ),
    ).toBe(isWritten)
  })
  test('a decision reaches a terminal that watches', async () => {
    await reeve(folder, 'demo', '--run', 'run_a', '--json')
    const following = begin(folder, ['events', 'run_a', '--follow'])
    const { id } = (await shown('run_a')).approvals[0]!
    await reeve(folder, 'approve', id)
    expect(await reeve(folder, 'resume', 'run_a')).toMatchObject({ code: 0 })
    expect((await following).out).toContain('surveyor completed')
  })
})

describe('leaving', () => {
  test('Ctrl-C parks the run and says how to go on', async () => {
    const left = await begin(folder, ['demo', '--run', 'run_a', '--yes', '--json'], (out, child) => {
      if (out.includes('survey_todos')) child.kill('SIGINT')
    })
    expect(left.code).toBe(130)
    expect(left.err).toContain('reeve resume run_a')
    expect(await reeve(folder, 'resume', 'run_a', '--yes')).toMatchObject({ code: 0 })
  })

  test(
    'kill -9 at any moment: the run goes on, repeats nothing, and writes the same report',
    { timeout: 300_000 },
    async () => {
      const undisturbed = await copy('undisturbed')
      await reeve(undisturbed, 'demo', '--run', 'run_k', '--yes')
      const expected = comparableReport(await report(undisturbed))
      for (const moment of [1, 10, 25, 45, 70, 100, 125, 140]) {
        const killed = await copy(`killed-${moment}`)
        const end = await begin(killed, ['demo', '--run', 'run_k', '--yes', '--json'], (out, child) => {
          if (out.split('\n').length > moment) child.kill('SIGKILL')
        })
        const before =
          end.signal === 'SIGKILL' ? recordedEnds(lines((await reeve(killed, 'events', 'run_k', '--json')).out)) : []
        const resumed = await reeve(killed, 'resume', 'run_k', '--yes')
        expect(resumed, resumed.err).toMatchObject({ code: 0 })
        const events = lines((await reeve(killed, 'events', 'run_k', '--json')).out)
        const ends = recordedEnds(events)
        expect(new Set(ends).size).toBe(ends.length)
        expect(ends.slice(0, before.length)).toEqual(before)
        expect(comparableReport(await report(killed))).toBe(expected)
      }
    },
  )
})

/** Every recorded end of an effect, by its place. */
const recordedEnds = (events: readonly Record<string, unknown>[]): string[] =>
  events.flatMap(({ activation, event }) => {
    const { type, address } = event as { type: string; address?: string }
    return type === 'step.settled' ? [`${String(activation)} ${address}`] : []
  })

describe('a bad argument', () => {
  test.each([
    ['a folder that is not there', ['demo', './nowhere'], 'folder not found'],
    ['a file', ['demo', 'package.json'], 'is a file, not a folder'],
    ['a bad run id', ['demo', '.', '--run', '../x'], 'not a run id'],
    ['a bad model id', ['demo', '.', '--model', 'nonsense'], 'nonsense'],
    ['an unknown option', ['demo', '.', '--fast'], '--fast'],
    ['an unknown command', ['demonstrate'], 'demonstrate'],
    ['too many arguments', ['demo', '.', 'src'], 'too many arguments'],
    ['no store', ['runs'], 'no store found in this folder'],
    ['a store that is not there', ['runs', '--store', 'x.db'], 'store not found'],
    ['no run id', ['resume'], 'no run was named'],
    ['a bad number', ['events', 'run_a', '--from', 'two'], 'Expected a whole number'],
  ])('%s: says so, exits with 2, creates nothing', async (_what, args, said) => {
    const before = await readdir(folder)
    const end = await reeve(folder, ...args)
    expect(end.code).toBe(2)
    expect(end.err).toContain(said)
    expect(end.err).not.toMatch(/\n\s+at /)
    expect(await readdir(folder)).toEqual(before)
  })
  test.skipIf(process.getuid?.() === 0)('a folder that cannot be written to: says so, creates nothing', async () => {
    await chmod(folder, 0o500)
    const end = await reeve(base, 'demo', folder)
    await chmod(folder, 0o700)
    expect(end).toMatchObject({ code: 2 })
  })
  test('a foreign store is left alone', async () => {
    await writeFile(join(folder, 'x.db'), 'not a database at all, but long enough to be looked at as one')
    const size = (await stat(join(folder, 'x.db'))).size
    const end = await reeve(folder, 'runs', '--store', 'x.db')
    expect(end.code).not.toBe(0)
    expect((await stat(join(folder, 'x.db'))).size).toBe(size)
  })
  test('an unknown run or approval', async () => {
    await reeve(folder, 'demo', '--run', 'run_a')
    for (const args of [
      ['show', 'run_x'],
      ['resume', 'run_x'],
      ['events', 'run_x'],
      ['cancel', 'run_x'],
      ['approve', 'apr_x'],
    ])
      expect((await reeve(folder, ...args)).code).toBe(2)
  })
})

test('cancel ends a run that waits; exit code 4', async () => {
  await reeve(folder, 'demo', '--run', 'run_a')
  expect(await reeve(folder, 'cancel', 'run_a', '--reason', 'wrong folder')).toMatchObject({ code: 0 })
  expect(await reeve(folder, 'resume', 'run_a')).toMatchObject({ code: 4 })
  expect(await shown('run_a')).toMatchObject({
    status: 'cancelled',
    cancel: { reason: 'wrong folder', by: userInfo().username },
  })
})

test('a paused run goes on with resume', async () => {
  await reeve(folder, 'demo', '--run', 'run_a')
  expect((await reeve(folder, 'pause', 'run_a')).code).toBe(0)
  const { id } = (await shown('run_a')).approvals[0]!
  await reeve(folder, 'approve', id)
  expect(await reeve(folder, 'resume', 'run_a')).toMatchObject({ code: 0 })
})

test('one resume is enough after a pause: the pause of before is not taken for the present', async () => {
  await reeve(folder, 'demo', '.', '--run', 'run_a')
  expect((await reeve(folder, 'pause', 'run_a')).code).toBe(0)
  const resumed = await reeve(folder, 'resume', 'run_a')
  expect(resumed.code).toBe(3)
  expect(resumed.out).toContain('The run waits for approval')
  expect(resumed.out).not.toContain('The run is paused.')
  expect((await reeve(folder, 'runs')).out).toMatch(/run_a\s+waiting/)
})

test('help has examples and the exit codes', async () => {
  const help = await reeve(folder, '--help')
  expect(help).toMatchObject({ code: 0, err: '' })
  expect(help.out).toContain('Exit codes: 0 done · 1 failed · 2 wrong usage')
  expect((await reeve(folder, 'demo', '--help')).out).toContain('reeve demo . --model ollama/qwen3')
})
