/** A coding agent as a worker: what it gets, what it may not do, and what becomes of one that speaks badly. */
import { tmpdir } from 'node:os'
import { realpathSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { acpAgent, type AcpAgentOptions } from '../src/acp/index.ts'
import { contentOf, Session } from '../src/acp/session.ts'
import type { ExternalAsk } from '../src/external-agent/index.ts'
import { createRuntime, type Run, type Runtime } from '@reeve/public'

const child = fileURLToPath(new URL('./acp-child.ts', import.meta.url))
const folder = realpathSync(tmpdir())
const coder = (how: string, more = '', options: Partial<AcpAgentOptions> = {}) =>
  acpAgent({
    name: 'coder',
    command: process.execPath,
    args: ['--no-warnings', child, how, more],
    cwd: folder,
    ...options,
  })

let runtime: Runtime
const started = async (worker: ReturnType<typeof coder>): Promise<Run> => {
  runtime = await createRuntime({ agents: [worker], onWarning: () => {} })
  return runtime.start('coder', 'Do it.')
}
const ended = async (worker: ReturnType<typeof coder>) => (await started(worker)).outcome()
afterEach(() => runtime.close())

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('its world', () => {
  beforeEach(() => vi.stubEnv('SECRET_OF_THE_HOST', 'x'))
  test('is the folder and the variables that it is given, and no other', async () => {
    const outcome = await ended(coder('world', '', { env: { PATH: true, GREETING: 'hello', SECRET_OF_NOBODY: true } }))
    const told = outcome.status === 'completed' ? (outcome.output as string) : '{}'
    const { cwd, env } = JSON.parse(told) as { readonly cwd: string; readonly env: object }
    expect(cwd).toBe(folder)
    expect(env).toEqual({ PATH: process.env['PATH'], GREETING: 'hello' })
  })
  test('has PATH and HOME if nothing is said', async () => {
    const outcome = await ended(coder('world'))
    const { env } = JSON.parse(outcome.status === 'completed' ? (outcome.output as string) : '{}') as { env: object }
    expect(Object.keys(env).sort()).toEqual(['HOME', 'PATH'].filter((name) => process.env[name] !== undefined))
  })
  test('has no files of the host: what it asks for is unknown', async () => {
    const outcome = await ended(coder('files'))
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('unknown method') })
  })
  test('needs an absolute folder', () => {
    expect(() => coder('plain', '', { cwd: 'here' })).toThrow('cwd is "here", expected an absolute path')
  })
})

test('a cancel ends the process and its children', async () => {
  const run = await started(coder('family'))
  let pids: number[] = []
  for await (const { part } of run.parts()) {
    pids = (part as { readonly text: string }).text.split(' ').map(Number)
    break
  }
  expect(pids.map(isAlive)).toEqual([true, true])
  await run.control.cancel('enough')
  expect((await run.outcome()).status).toBe('cancelled')
  await expect.poll(() => pids.map(isAlive)).toEqual([false, false])
})

describe('a permission for a call that changes while a person looks', () => {
  test('is asked again: the answer to what was shown counts for nothing', async () => {
    runtime = await createRuntime({ agents: [coder('plain')], onWarning: () => {} })
    const session = new Session({
      command: process.execPath,
      args: ['--no-warnings', child, 'changes'],
      cwd: folder,
      env: {},
    })
    try {
      await session.initialize()
      await session.open(folder, [])
      session.prompt('Do it.', 'key')
      const { signal } = new AbortController()
      const asked = async () => {
        const progress = await session.progress(() => {}, signal)
        return 'asks' in progress ? progress.asks[0]! : undefined
      }
      const shown = await asked()
      expect(shown).toMatchObject({
        input: { title: 'Read README.md' },
        context: { option: 'Always allow everything' },
      })
      await expect.poll(asked).toMatchObject({ input: { title: 'rm -rf /' } })
      const yes = (ask: ExternalAsk) => ({
        content: contentOf(ask),
        reply: { type: 'approved', id: ask.id, input: {}, edited: false } as const,
      })
      session.reply([yes(shown!)])
      const now = await asked()
      expect(now).toMatchObject({ input: { title: 'rm -rf /' } })
      session.reply([yes(now!)])
      expect(await session.progress(() => {}, signal)).toEqual({ ended: 'end_turn' })
      expect(session.answer).toBe(JSON.stringify({ outcome: { outcome: 'selected', optionId: 'always' } }))
    } finally {
      await session.close()
    }
  })

  test('a person who approves the first is asked about the second', async () => {
    const run = await started(coder('changes'))
    const state = await run.until('waiting')
    const [first] = 'waiting' in state ? state.waiting : []
    expect(first).toMatchObject({ input: { title: 'Read README.md' } })
    await setTimeout(1_000) // the agent says nothing of it that could be awaited
    await run.decide({ approvalId: first!.id, decision: 'approve' })
    const again = await run.until('waiting')
    expect('waiting' in again ? again.waiting : []).toMatchObject([{ input: { title: 'rm -rf /' } }])
  })
})

test.each([
  ['a line of 30 MB', 'line'],
  ['thousands of requests', 'spam'],
  ['calls without end', 'calls'],
])('%s: it has failed, and its process has ended', async (_what, how) => {
  const run = await started(coder(how))
  let state = await run.until('waiting')
  while ('waiting' in state) {
    for (const { id } of state.waiting) await run.decide({ approvalId: id, decision: 'reject' })
    state = await run.until('waiting')
  }
  expect(state).toMatchObject({ status: 'failed', failure: { code: 'agent.too-much', retryable: false } })
})

describe('a permission', () => {
  const once = { optionId: 'o', name: 'Once', kind: 'allow_once' }
  const always = { optionId: 'a', name: 'Always', kind: 'allow_always' }
  const never = { optionId: 'n', name: 'No', kind: 'reject_once' }
  const decided = async (options: readonly object[], decision: 'approve' | 'reject' | 'edit'): Promise<unknown> => {
    const run = await started(coder('permission', JSON.stringify(options)))
    const state = await run.until('waiting')
    const [approval] = 'waiting' in state ? state.waiting : []
    expect(approval).toMatchObject({ tool: 'execute', input: { title: 'rm', rawInput: { command: 'rm -rf /' } } })
    const approvalId = approval!.id
    await run.decide(decision === 'edit' ? { approvalId, decision, input: {} } : { approvalId, decision })
    const outcome = await run.outcome()
    return JSON.parse(outcome.status === 'completed' ? (outcome.output as string) : 'null')
  }
  test.each([
    ['approved', [always, once, never], 'approve', { outcome: 'selected', optionId: 'o' }],
    ['rejected', [always, once, never], 'reject', { outcome: 'selected', optionId: 'n' }],
    ['edited, which the protocol has not', [always, once, never], 'edit', { outcome: 'selected', optionId: 'n' }],
    ['approved where it could only be allowed for ever', [always, never], 'approve', { outcome: 'cancelled' }],
    ['approved without options', [], 'approve', { outcome: 'cancelled' }],
  ] as const)('%s', async (_name, options, decision, outcome) => {
    expect(await decided(options, decision)).toEqual({ outcome })
  })
})

describe('an agent that does not do its work is a failed outcome that says why', () => {
  test.each([
    ['dies', /has ended with code 3: out of memory/],
    ['garbage', /does not speak the protocol: a line is not JSON/],
    ['refuses', /refused to go on/],
    ['later', /speaks version 9 of ACP, and not 1/],
  ])('%s', async (how, why) => {
    const outcome = await ended(coder(how))
    expect(outcome.status === 'failed' ? outcome.failure.message : outcome.status).toMatch(why)
  })
  test('one that is not there', async () => {
    const outcome = await ended(coder('plain', '', { command: '/no/such/program' }))
    expect(outcome.status === 'failed' ? outcome.failure.message : outcome.status).toMatch(/cannot be started/)
  })
  test('one that never answers is stopped at its time limit', async () => {
    const outcome = await ended(coder('silent', '', { timeoutMs: 300 }))
    expect(outcome.status === 'failed' ? outcome.failure.code : outcome.status).toBe('effect.timed-out')
  })
})

test('any line in between: the work ends', async () => {
  const names = fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'update', 'sessionUpdate', 'content', '__proto__')
  const values = fc.oneof(
    fc.constantFrom('session/update', 'tool_call', 'agent_message_chunk', 'text', 'session/elicit', null, 1, 3),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const messages = fc.dictionary(names, fc.oneof(values, fc.dictionary(names, values)))
  await fc.assert(
    fc.asyncProperty(messages, async (message) => {
      const { id: _id, ...said } = message
      const line = JSON.stringify('method' in said ? { ...said, method: JSON.stringify(said['method']) } : message)
      const outcome = await ended(coder('hostile', line))
      await runtime.close()
      expect(['completed', 'failed']).toContain(outcome.status)
    }),
    { numRuns: 8 },
  )
})
