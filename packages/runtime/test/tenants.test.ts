/** Agents of tenants: to another tenant they are not there, however they are reached. */
import { afterEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, delegate, supervisor } from '@reeve/public'
import { ReeveError } from '@reeve/core'
import type { Runtime, RuntimeOptions } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
const store = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-tenants-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'reeve.db')
}
async function runtimeWith(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ store: store(), ...options })
  closing.push(() => runtime.close())
  return runtime
}

/** Agents that were called, in order: each has its tenant's key. */
const called: string[] = []
const clerkOf = (name: string) =>
  agent({
    name,
    description: name,
    model: () => {
      called.push(name)
      return `${name} here`
    },
  })
const teamOf = (tenant: string) =>
  supervisor({
    name: `support_${tenant}`,
    description: `Support of ${tenant}.`,
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : { calls: [{ name: 'delegate', input: { worker: `clerk_${tenant}`, instructions: 'Go.' } }] },
    workers: [clerkOf(`clerk_${tenant}`)],
  })
const both = { acme: { agents: ['support_acme'] }, globex: { agents: ['support_globex'] } }

const refusal = async (work: Promise<unknown>): Promise<{ readonly code: string; readonly text: string }> => {
  try {
    await work
  } catch (thrown) {
    if (ReeveError.is(thrown)) return { code: thrown.code, text: `${thrown.message} ${thrown.hint ?? ''}` }
    throw thrown
  }
  throw new Error('it was not refused')
}

describe('an agent that tenants name', () => {
  test('is theirs, with its workers; to another tenant it is not there, by the same words', async () => {
    const runtime = await runtimeWith({ agents: [teamOf('acme'), teamOf('globex'), clerkOf('open')], tenants: both })
    called.length = 0
    for (const name of ['support_globex', 'clerk_globex']) {
      const foreign = await refusal(runtime.run(name, 'hi', { tenant: 'acme' }))
      const absent = await refusal(runtime.run('nobody_here_', 'hi', { tenant: 'acme' }))
      expect(foreign).toEqual({
        code: 'agent.not-registered',
        text: absent.text.replace('nobody_here_', name),
      })
      expect(foreign.text).toContain('Registered: support_acme, open, clerk_acme.')
    }
    expect(called).toEqual([])
    expect(await runtime.run('support_acme', 'hi', { tenant: 'acme' })).toMatchObject({ output: 'Done.' })
    expect(await runtime.run('open', 'hi', { tenant: 'acme' })).toMatchObject({ output: 'open here' })
    expect(await runtime.run('open', 'hi', { tenant: 'a-third' })).toMatchObject({ output: 'open here' })
    // without a tenant it is the application's
    expect(await runtime.run('clerk_globex', 'hi')).toMatchObject({ output: 'clerk_globex here' })
    expect(called).toEqual(['clerk_acme', 'open', 'open', 'clerk_globex'])
    expect(Object.fromEntries(runtime.agents().map(({ name, tenants }) => [name, tenants]))).toEqual({
      support_acme: ['acme'],
      clerk_acme: ['acme'],
      support_globex: ['globex'],
      clerk_globex: ['globex'],
      open: undefined,
    })
  })

  test('several tenants may name one; a worker that others reach as well stays everybody’s', async () => {
    const shared = clerkOf('shared')
    const lead = (name: string) => supervisor({ name, description: name, model: () => 'ok', workers: [shared] })
    const runtime = await runtimeWith({
      agents: [lead('one'), lead('two'), lead('anyone')],
      tenants: { acme: { agents: ['one', 'two'] }, globex: { agents: ['two'] } },
    })
    const owners = Object.fromEntries(runtime.agents().map(({ name, tenants }) => [name, tenants]))
    expect(owners).toEqual({ one: ['acme'], two: ['acme', 'globex'], anyone: undefined, shared: undefined })
    expect((await refusal(runtime.start('one', 'x', { tenant: 'globex' }))).code).toBe('agent.not-registered')
    expect(await runtime.run('two', 'x', { tenant: 'globex' })).toMatchObject({ output: 'ok' })
  })

  test('a team that reaches agents of two tenants is of neither: it would lend the keys of one to the other', async () => {
    const front = supervisor({
      name: 'front',
      description: 'Leads all.',
      model: () => 'ok',
      workers: [teamOf('acme'), teamOf('globex')],
    })
    const runtime = await runtimeWith({ agents: [front], tenants: both })
    for (const tenant of ['acme', 'globex'])
      expect((await refusal(runtime.run('front', 'x', { tenant }))).code).toBe('agent.not-registered')
    expect(await runtime.run('front', 'x')).toMatchObject({ output: 'ok' })
  })

  test('is not begun as a worker of another tenant’s run either, where code names it', async () => {
    called.length = 0
    const target = clerkOf('clerk_globex')
    const sneaky = agent({
      name: 'sneaky',
      description: 'Delegates to what it was not given.',
      run: async (ctx) => {
        const outcome = await delegate(ctx, target, 'go')
        return outcome.status === 'failed' ? outcome.failure.code : 'it ran'
      },
    })
    const runtime = await runtimeWith({
      agents: [sneaky, target],
      tenants: { globex: { agents: ['clerk_globex'] } },
    })
    expect(await runtime.run('sneaky', 'x', { tenant: 'acme' })).toMatchObject({ output: 'agent.not-registered' })
    expect(called).toEqual([])
    expect(await runtime.run('sneaky', 'x', { tenant: 'globex' })).toMatchObject({ output: 'it ran' })
    expect(await runtime.run('sneaky', 'x')).toMatchObject({ output: 'it ran' })
  })

  test('a run of another tenant from before is neither forked nor retried', async () => {
    const at = store()
    const fails = agent({
      name: 'fails',
      description: 'Fails.',
      run: () => Promise.reject(new Error('no')),
    })
    const before = await runtimeWith({ agents: [fails], store: at, onWarning: () => {} })
    await before.run('fails', 'x', { runId: 'old', tenant: 'acme' })
    await before.close()
    const runtime = await runtimeWith({ agents: [fails], store: at, tenants: { globex: { agents: ['fails'] } } })
    expect((await refusal(runtime.retry('old'))).code).toBe('agent.not-registered')
    expect((await refusal(runtime.fork({ run: 'old' }))).code).toBe('agent.not-registered')
    const batch = await runtime.batch('retry', { status: ['failed'] })
    expect(await batch.outcome()).toMatchObject({
      total: 1,
      refused: 1,
      causes: [{ code: 'agent.not-registered', runs: ['old'] }],
    })
    expect(await runtime.runs()).toHaveLength(1)
  })

  test('names that are not registered, and tenants that are none, are refused', async () => {
    const agents = [clerkOf('support')]
    const of = async (tenants: unknown): Promise<string> =>
      (await refusal(createRuntime({ agents, tenants: tenants as never }))).text
    expect(await of({ acme: { agents: ['suport'] } })).toContain(
      'createRuntime: tenants.acme.agents: unknown agent "suport": did you mean "support"?',
    )
    expect(await of({ 'a b': { agents: [] } })).toContain('tenants')
    expect(await of({ acme: { agent: ['support'] } })).toContain('did you mean "agents"?')
    expect(await of({ acme: {} })).toContain('agents')
    expect(await of(['acme'])).toContain('tenants')
  })
})
