/** The run tree as lines, and the painter: pure functions of a view. */
import { describe, expect, test } from 'vitest'
import { rootActivation, runId, type ActivationId } from '@reeve/core'
import type { ActivationView, RunView } from '@reeve/runtime'
import { cut } from '@reeve/core'
import { durationText } from '@reeve/core'
import { Painter, treeLines } from '../src/tree.ts'
import { fakeTerminal } from './fake-terminal.ts'

const run = runId('r')
const root = rootActivation(run)
const activation = (id: string, agent: string, more: Partial<ActivationView> = {}): ActivationView => ({
  activation: id as ActivationId,
  agent,
  version: '1',
  path: [agent],
  state: 'running',
  startedAt: 0,
  open: [],
  usage: [],
  modelCalls: 0,
  toolCalls: 0,
  failedAttempts: 0,
  recruited: false,
  ...more,
})
const view = (...activations: ActivationView[]): RunView => ({
  run,
  status: 'running',
  agent: 'lead',
  version: '1',
  input: null,
  caller: {},
  startedAt: 0,
  activations,
  approvals: [],
  interrupts: [],
  doubts: [],
  messages: [],
  recruits: [],
  teams: [],
  failedAttempts: [],
  usage: [],
  position: 1,
})
const tool = { kind: 'tool', address: 'a', name: 'survey_links', since: 0, failedAttempts: 1, inDoubt: false } as const

describe('the tree', () => {
  const team = view(
    activation(root, 'lead', { open: [{ ...tool, kind: 'worker', name: 'links' }] }),
    activation(`${root}>1`, 'links', { parent: root, open: [tool] }),
    activation(`${root}>2`, 'secrets', {
      parent: root,
      state: 'completed',
      outcome: { status: 'completed', output: 1 },
      endedAt: 400,
    }),
    activation(`${root}>1>3`, 'deep', {
      parent: `${root}>1` as ActivationId,
      state: 'waiting',
      recruited: true,
      open: [{ ...tool, kind: 'approval', name: 'write_report' }],
    }),
    activation(`${root}>4`, 'todos', {
      parent: root,
      state: 'failed',
      endedAt: 65_000,
      outcome: {
        status: 'failed',
        failure: { code: 'tool.failed', message: 'no\n git', class: 'unknown', retryable: false },
      },
    }),
  )
  test('says whose model call waits for room in a limit', () => {
    const shortOf = { limit: 'tokens', max: 8_000, activation: root, since: 0 } as const
    const lines = treeLines(view(activation(root, 'lead', { shortOf, open: [{ ...tool, kind: 'timer' }] })), {
      now: 12_000,
      columns: 100,
    })
    expect(lines).toEqual(['⠋ lead  12s  waits for the limit of 8000 tokens'])
  })

  test('puts workers below their leaders, with state, time and what they do', () => {
    expect(treeLines(team, { now: 12_000, columns: 100 })).toEqual([
      '⠋ lead  12s',
      '├─ ⠋ links  12s  survey_links (attempt 2)',
      '│  └─ ? deep (recruited)  12s  waits for approval of write_report',
      '├─ ✓ secrets  0.4s',
      '└─ ✗ todos  1m 05s  no git',
    ])
  })
  test('fits the terminal', () => {
    expect(treeLines(team, { now: 12_000, columns: 20, rows: 4 })).toEqual([
      '⠋ lead  12s',
      '├─ ⠋ links  12s …+25',
      '│  └─ ? deep (re…+49',
      '  … and 2 more',
    ])
  })
  test('a line of wide characters fits, too: the next drawing begins where this one did', () => {
    const failure = { code: 'tool.failed', message: '失敗'.repeat(60), class: 'unknown', retryable: false } as const
    const wide = view(activation(root, 'lead', { state: 'failed', endedAt: 0, outcome: { status: 'failed', failure } }))
    expect(treeLines(wide, { now: 0, columns: 40 })).toEqual(['✗ lead  0.0s  失敗失敗失敗失敗失敗…+110'])
  })
  test('tells the same once, and how often', () => {
    const timer = { ...tool, kind: 'timer', name: 't', failedAttempts: 0 } as const
    const waits = view(activation(root, 'lead', { state: 'waiting', open: [timer, tool, timer, timer] }))
    expect(treeLines(waits, { now: 12_000, columns: 100 })).toEqual([
      '? lead  12s  waits for a timer (3×), survey_links (attempt 2)',
    ])
  })
  test('styles by state', () => {
    const styled = treeLines(team, { now: 0, columns: 100, style: (style, text) => `<${style}>${text}</>` })
    expect(styled[3]).toBe('<dim>├─ </><green>✓</> secrets  <dim>0.4s</>')
  })
  test('writes durations for people', () => {
    expect([0, 400, 9_940, 12_900, 65_000, 3_600_000 * 2 + 600_000, -5].map(durationText)).toEqual([
      '0.0s',
      '0.4s',
      '9.9s',
      '12s',
      '1m 05s',
      '2h 10m',
      '0.0s',
    ])
    expect([cut('abcdef', 6), cut('abcdefgh', 6)]).toEqual(['abcdef', 'abc…+5'])
  })
})

test('the painter draws over what it drew', () => {
  const terminal = fakeTerminal({ isLive: true })
  const painter = new Painter(terminal)
  painter.draw(['a', 'b'])
  painter.draw(['c'])
  painter.leave()
  painter.draw(['d'])
  expect(terminal.written.replaceAll('\u001b', '^')).toBe('\r^[2Ka\n\r^[2Kb\n^[0J^[2A\r^[2Kc\n^[0J\r^[2Kd\n^[0J')
})
