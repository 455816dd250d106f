/** Worker versions: a worker begins in the version that belongs to the version of its leader (K4). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  agent,
  asTool,
  interrupt,
  loop,
  parallel,
  router,
  sequential,
  supervisor,
  team,
  FailureError,
  type Agent,
  type JsonObject,
  type ModelRequest,
  type Runtime,
  type RunId,
  type RuntimeOptions,
} from '@reeve/public'
import type { Recorded } from '@reeve/journal'
import { reflect } from '@reeve/supervisor'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

type Options = Pick<RuntimeOptions, 'agents' | 'earlier' | 'onMissingVersion'>

/** An agent that answers with its name and version. */
const says = (name: string, version: string): Agent =>
  agent({ name, description: 'Works.', version, run: () => `${name} ${version}` })

/** Holds the run until somebody answers. */
const gate = (version: string): Agent =>
  agent({ name: 'gate', description: 'Asks.', version, run: (ctx) => interrupt(ctx, 'go on?') })

/** A model that makes these calls, one a turn, and then ends. */
const calls =
  (...all: readonly (readonly [name: string, input: JsonObject])[]) =>
  ({ messages }: ModelRequest) => {
    const next = all[messages.filter(({ role }) => role === 'tool').length]
    return next === undefined ? 'done' : { calls: [{ name: next[0], input: next[1] }] }
  }
const delegates = (...names: readonly string[]) =>
  calls(...names.map((worker) => ['delegate', { worker, instructions: 'x' }] as const))
/** A model that transfers to each of these until what they say is to be read. */
const transfers =
  (...all: readonly (readonly [name: string, says: string])[]) =>
  ({ messages }: ModelRequest) => {
    const said = JSON.stringify(messages)
    const next = all.find(([, words]) => !said.includes(words))
    return next === undefined
      ? 'done'
      : { calls: [{ name: 'transfer_to_agent', input: { agent_name: next[0] } as JsonObject }] }
  }
const tasks = (...roles: readonly string[]) => ({
  subtasks: roles.map((role, i) => ({
    id: `t${i}`,
    description: 'x',
    role,
    ...(i === 0 ? {} : { dependencies: [`t${i - 1}`] }),
  })),
})

/** The first attempt of a worker that is attempted twice. */
let attempted: string | undefined
beforeEach(() => {
  attempted = undefined
})

/** A leader `crew` in a version; the workers of that version. `gate` works first, what is looked at begins after it. */
const shapes: Record<string, (version: string) => Agent> = {
  supervisor: (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [gate(version), says('worker', version)],
      model: delegates('gate', 'worker'),
    }),
  'a supervisor of code': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [gate(version), says('worker', version)],
      run: async (_ctx, _brief, crew) => {
        await crew.delegate('gate' as never, 'x' as never)
        await crew.delegate('worker' as never, 'x' as never)
      },
    }),
  'the work of code': (version) => {
    const worker = says('worker', version)
    return agent({
      name: 'crew',
      version,
      workers: [worker],
      run: async (ctx) => {
        await interrupt(ctx, 'go on?')
        await ctx.delegate(worker, 'x')
        return 'done'
      },
    })
  },
  'a worker in the background': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [gate(version), says('worker', version)],
      model: delegates('gate', 'worker'),
      delegation: { background: ['worker'] },
    }),
  'a worker placed apart': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [gate(version), says('worker', version)],
      model: delegates('gate', 'worker'),
      delegation: { workers: { worker: { place: 'apart' } } },
    }),
  'a hedge': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [
        gate(version),
        agent({
          name: 'slow',
          description: 'Slow.',
          version,
          run: async (ctx) => {
            await ctx.sleep(3_600_000)
            return 'late'
          },
        }),
        says('worker', version),
      ],
      model: delegates('gate', 'slow'),
      delegation: { workers: { slow: { hedge: { afterMs: 1, with: 'worker' } } } },
    }),
  'a second attempt': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [
        agent({
          name: 'worker',
          description: 'Fails once.',
          version,
          run: async (ctx) => {
            attempted ??= ctx.place.activation
            if (attempted !== ctx.place.activation) return 'done'
            await interrupt(ctx, 'go on?')
            throw new FailureError({ code: 'agent.failed', message: 'not now', class: 'transport', retryable: true })
          },
        }),
      ],
      model: delegates('worker'),
      delegation: { retry: { attempts: 2, backoffMs: 1 } },
    }),
  'the roles of a team': (version) =>
    team({
      name: 'crew',
      version,
      roles: { gate: gate(version), generalist: says('worker', version) },
      planner: tasks('gate', 'generalist'),
    }),
  'a recruit of a team': (version) =>
    team({
      name: 'crew',
      version,
      roles: { gate: gate(version), generalist: says('other', version), extra: says('worker', version) },
      planner: tasks('gate', 'generalist'),
      lead: ({ ended }) => (ended.task === 't0' ? [{ recruit: { role: 'extra', description: 'x' } }] : []),
    }),
  'a planner that is an agent': (version) => {
    const plans = agent({
      name: 'worker',
      description: 'Plans.',
      version,
      run: () => JSON.stringify(tasks('generalist', 'generalist')),
    })
    return sequential({
      name: 'crew',
      version,
      agents: [
        gate(version),
        team({ name: 'inner', version, roles: { generalist: says('other', version) }, planner: plans }),
      ],
    })
  },
  'an answer put together by an agent': (version) =>
    team({
      name: 'crew',
      version,
      roles: { gate: gate(version), generalist: says('other', version) },
      planner: tasks('gate', 'generalist'),
      synthesize: says('worker', version),
    }),
  'a judge': (version) =>
    reflect(gate(version), {
      name: 'crew',
      version,
      judge: agent({
        name: 'worker',
        version,
        description: 'Judges.',
        run: () => JSON.stringify({ score: 1, reason: 'fine' }),
      }),
    }),
  sequential: (version) => sequential({ name: 'crew', version, agents: [gate(version), says('worker', version)] }),
  loop: (version) =>
    loop({ name: 'crew', version, agents: [gate(version), says('worker', version)], maxIterations: 1 }),
  parallel: (version) =>
    sequential({
      name: 'crew',
      version,
      agents: [
        gate(version),
        parallel({ name: 'both', version, agents: [says('worker', version), says('other', version)] }),
      ],
    }),
  router: (version) =>
    router({
      name: 'crew',
      version,
      workers: [gate(version), says('worker', version)],
      model: transfers(['gate', 'yes'], ['worker', 'worker 1']),
      transfer: { returns: 'always' },
    }),
  'an agent as a tool': (version) =>
    agent({
      name: 'crew',
      version,
      model: calls(['gate', { request: 'x' }], ['worker', { request: 'x' }]),
      tools: [asTool(gate(version)), asTool(says('worker', version))],
    }),
  'a leader below the leader': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [
        gate(version),
        sequential({ name: 'inner', description: 'Leads.', version, agents: [says('worker', version)] }),
      ],
      model: delegates('gate', 'inner'),
    }),
  'below a leader placed apart': (version) =>
    supervisor({
      name: 'crew',
      version,
      workers: [
        sequential({ name: 'inner', description: 'Leads.', version, agents: [gate(version), says('worker', version)] }),
      ],
      model: delegates('inner'),
      delegation: { workers: { inner: { place: 'apart', limits: { turns: 8 } } } },
    }),
}

const declared = (version: string): string => version.split('+')[0]!

/** What has begun in this run and the runs that its workers placed apart are, by agent and declared version. */
async function begun(runtime: Runtime): Promise<readonly (readonly [agent: string, version: string])[]> {
  const all: Recorded[] = []
  const runs = [...(await runtime.runs()), ...(await runtime.runs({ childrenOf: 'r' as RunId }))]
  for (const { run } of runs) all.push(...(await runtime.handle(run).journal()))
  return all.flatMap(({ event }) =>
    event.type === 'activation.started' ? [[event.agent, declared(event.version)] as const] : [],
  )
}

const moves = async (runtime: Runtime, run = 'r'): Promise<readonly (readonly [from: string, to: string])[]> =>
  (await runtime.handle(run).journal()).flatMap(({ event }) =>
    event.type === 'agent.moved' ? [[declared(event.from), declared(event.to)] as const] : [],
  )

/** Starts `crew`, which waits at its gate, and opens the store again with what is registered after a deploy. */
async function deployed(before: Options, after: Options): Promise<Runtime> {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-worker-versions-')), 'reeve.db')
  const first = await createRuntime({ store, strict: true, ...before })
  await first.start('crew', 'go', { runId: 'r' })
  await expect.poll(() => first.questions()).toHaveLength(1)
  await first.close()
  return createRuntime({ store, strict: true, ...after })
}

async function goOn(runtime: Runtime): Promise<void> {
  for (const { id } of await runtime.questions()) await runtime.answer({ interruptId: id, value: 'yes' })
}

describe.each(Object.entries(shapes))('a worker that begins after a deploy: %s', (_shape, made) => {
  test('begins in the version of its leader, though a newer one is registered', async () => {
    await using runtime = await deployed(
      { agents: [made('1')] },
      { agents: [made('3')], earlier: [made('2'), made('1')], onMissingVersion: 'park' },
    )
    await goOn(runtime)
    expect(await runtime.handle('r').outcome()).toMatchObject({ status: 'completed' })
    const all = await begun(runtime)
    expect(all.map(([name]) => name)).toContain('worker')
    expect(all.filter(([, version]) => version !== '1')).toEqual([])
    expect(await moves(runtime)).toEqual([])
  })
})

/** A leader of these workers in this version; the first of them is asked first. */
const crew = (version: string, ...workers: readonly Agent[]): Agent =>
  supervisor({ name: 'crew', version, workers, model: delegates(...workers.map(({ name }) => name)) })

test('a worker that only the earlier leader has begins for a run of that leader', async () => {
  await using runtime = await deployed(
    { agents: [crew('1', gate('1'), says('former', '1'))] },
    { agents: [crew('2', gate('2'))], earlier: [crew('1', gate('1'), says('former', '1'))] },
  )
  await goOn(runtime)
  await runtime.handle('r').outcome()
  expect(await begun(runtime)).toContainEqual(['former', '1'])
})

test('two earlier versions of a leader each have the workers of their own', async () => {
  const made = (version: string): Agent => crew(version, gate(version), says('worker', version))
  await using runtime = await deployed(
    { agents: [made('2')], earlier: [made('1')] },
    { agents: [made('3')], earlier: [made('1'), made('2')] },
  )
  await goOn(runtime)
  await runtime.handle('r').outcome()
  expect(await begun(runtime)).toContainEqual(['worker', '2'])
})

test('a leader whose version is gone moves with its workers, and its journal says so', async () => {
  const made = (version: string): Agent => crew(version, gate(version), says('worker', version))
  await using runtime = await deployed({ agents: [made('1')] }, { agents: [made('3')], earlier: [made('2')] })
  await goOn(runtime)
  await runtime.handle('r').outcome()
  expect(await begun(runtime)).toContainEqual(['worker', '3'])
  expect(await moves(runtime)).toContainEqual(['1', '3'])
})

test('a fork of a run keeps the version of its leader, and so of the workers that begin in it', async () => {
  const made = (version: string): Agent => crew(version, gate(version), says('worker', version))
  await using runtime = await deployed({ agents: [made('1')] }, { agents: [made('2')], earlier: [made('1')] })
  await goOn(runtime)
  await runtime.handle('r').outcome()
  const started = (await runtime.handle('r').journal()).find(
    ({ event }) => event.type === 'worker.started' && event.agent === 'worker',
  )!
  const fork = await runtime.fork({ run: 'r', at: started.position - 1, by: 'ann' })
  await fork.outcome()
  const births = (await fork.journal()).flatMap(({ event }) =>
    event.type === 'activation.started' && event.agent === 'worker' ? [declared(event.version)] : [],
  )
  expect(births).toEqual(['1'])
})

test('what a person gives in place of an agent is checked by the version that the agent has in this run', async () => {
  const made = (version: string, output: z.ZodType): Agent =>
    agent({ name: 'crew', version, output, run: (ctx) => interrupt(ctx, 'go on?') as never })
  const [first, second] = [made('1', z.object({ n: z.number() })), made('2', z.object({ word: z.string() }))]
  await using runtime = await deployed({ agents: [first] }, { agents: [second], earlier: [first] })
  const run = runtime.handle('r')
  await run.control.takeOver({ by: 'ann' })
  await expect(run.control.finish({ output: { word: 'x' } })).rejects.toMatchObject({ code: 'input.invalid' })
  await run.control.finish({ output: { n: 1 } })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: { n: 1 } })
})

/** An agent with a model that answers with its instructions. */
const told = (name: string, instructions: string): Agent =>
  agent({
    name,
    description: 'Works.',
    instructions,
    model: ({ messages }: ModelRequest) => `told ${JSON.stringify(messages[0]!.content)}`,
  })

/** Leaders `crew` that declare no version, by a worker that alone is changed. It begins when the gate is passed. */
const unversioned: Record<string, (worker: Agent) => Agent> = {
  supervisor: (worker) =>
    supervisor({ name: 'crew', workers: [gate('1'), worker], model: delegates('gate', 'worker') }),
  'a supervisor of code': (worker) =>
    supervisor({
      name: 'crew',
      workers: [gate('1'), worker],
      run: async (_ctx, _brief, all) => {
        await all.delegate('gate' as never, 'x' as never)
        return (await all.delegate('worker' as never, 'x' as never)) as never
      },
    }),
  'the work of code': (worker) =>
    agent({
      name: 'crew',
      workers: [worker],
      run: async (ctx) => {
        await interrupt(ctx, 'go on?')
        await ctx.delegate(worker, 'x')
        return 'done'
      },
    }),
  'a role of a team': (worker) =>
    team({
      name: 'crew',
      roles: { gate: gate('1'), generalist: worker },
      planner: tasks('gate', 'generalist'),
    }),
  sequential: (worker) => sequential({ name: 'crew', agents: [gate('1'), worker] }),
  router: (worker) =>
    router({
      name: 'crew',
      workers: [gate('1'), worker],
      model: transfers(['gate', 'yes'], ['worker', 'of a deploy']),
      transfer: { returns: 'always' },
    }),
  'a judge': (worker) =>
    sequential({ name: 'crew', agents: [gate('1'), reflect(says('other', '1'), { judge: worker })] }),
  'an agent as a tool': (worker) =>
    agent({
      name: 'crew',
      model: calls(['gate', { request: 'x' }], ['worker', { request: 'x' }]),
      tools: [asTool(gate('1')), asTool(worker)],
    }),
  'a grandchild': (worker) =>
    supervisor({
      name: 'crew',
      workers: [
        gate('1'),
        supervisor({ name: 'inner', description: 'Leads.', workers: [worker], model: delegates('worker') }),
      ],
      model: delegates('gate', 'inner'),
    }),
  'workers given as a function': (worker) =>
    supervisor({ name: 'crew', workers: () => [gate('1'), worker], model: delegates('gate', 'worker') }),
}
/** The worker before and after a deploy. */
const former = (): Agent => told('worker', 'before of a deploy')
const newer = (): Agent => told('worker', 'after of a deploy')

/** The versions in which these agents began, in the order of the run. */
const versionsOf = async (runtime: Runtime, name: string): Promise<readonly string[]> =>
  (await runtime.handle('r').journal()).flatMap(({ event }) =>
    event.type === 'activation.started' && event.agent === name ? [event.version] : [],
  )

describe.each(Object.entries(unversioned))('a deploy that changes only a worker: %s', (_shape, made) => {
  test('the leader has another version', () => {
    expect(made(former()).version).toBe(made(former()).version)
    expect(made(newer()).version).not.toBe(made(former()).version)
    expect(made(agent({ name: 'worker', description: 'Works.', version: '2', run: () => 'x' })).version).not.toBe(
      made(says('worker', '1')).version,
    )
  })

  test('with the earlier leader, the run has the earlier worker', async () => {
    await using runtime = await deployed(
      { agents: [made(former())] },
      { agents: [made(newer())], earlier: [made(former())], onMissingVersion: 'park' },
    )
    await goOn(runtime)
    await runtime.handle('r').outcome()
    expect(await versionsOf(runtime, 'worker')).toContain(former().version)
    expect(await versionsOf(runtime, 'worker')).not.toContain(newer().version)
    expect(await moves(runtime)).toEqual([])
  })

  test('asked to park, the run waits for the earlier leader', async () => {
    await using runtime = await deployed(
      { agents: [made(former())] },
      { agents: [made(newer())], onMissingVersion: 'park' },
    )
    await goOn(runtime)
    await expect.poll(async () => (await runtime.runs())[0]?.status).toBe('stuck')
    expect(await versionsOf(runtime, 'worker')).toEqual([])
  })

  test('asked to move, the leader moves with its worker and its journal says so', async () => {
    await using runtime = await deployed({ agents: [made(former())] }, { agents: [made(newer())] })
    await goOn(runtime)
    await runtime.handle('r').outcome()
    expect(await versionsOf(runtime, 'worker')).toContain(newer().version)
    expect(await versionsOf(runtime, 'worker')).not.toContain(former().version)
    const moved = (await runtime.handle('r').journal()).flatMap(({ event }) =>
      event.type === 'agent.moved' ? [[event.from, event.to]] : [],
    )
    expect(moved).toContainEqual([made(former()).version, made(newer()).version])
  })
})

test('an action that was asked for by a leader with a changed worker is asked for by its new version', async () => {
  const made = (worker: Agent): Agent =>
    agent({
      name: 'crew',
      workers: [worker],
      run: async (ctx) => {
        await interrupt(ctx, 'go on?')
        return (await ctx.approve('pay', {})).approved
      },
    })
  await using runtime = await deployed({ agents: [made(former())] }, { agents: [made(newer())] })
  await goOn(runtime)
  await expect.poll(() => runtime.approvals()).toHaveLength(1)
  const [asked] = await runtime.approvals()
  expect(asked).toMatchObject({ toolVersion: made(newer()).version })
  await runtime.handle('r').decide({ approvalId: asked!.id, decision: 'approve' })
  expect(await runtime.handle('r').outcome()).toMatchObject({ status: 'completed', output: true })
})
