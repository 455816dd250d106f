/**
 * Replay: one activation of 20,000 steps is read, decoded and run again; a leader with 1,000 settled workers wakes; and
 * code whose log began anew 98 times.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { agent, approve, createRuntime, delegate, step, type Agent, type Runtime } from 'reeve'
import { type RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import { inFolder, median, sleep, turnOfLoop, type Row } from './measure.ts'

const steps = 20_000
const workers = 1_000
const segments = 98
const stepsOfSegment = 1_000
const id = 'run_bench' as RunId

const gate = {
  tool: 'publish',
  toolVersion: '1',
  input: 'a book',
  reason: 'it is for the public',
  timeoutMs: 3_600_000,
}
const walker = agent({
  name: 'walker',
  run: async (ctx) => {
    for (let i = 0; i < steps; i++) await step(ctx, 'walk', () => 1, { effect: 'read' })
    return (await approve(ctx, gate)).approved
  },
})
const looper = agent({
  name: 'looper',
  run: async (ctx) => {
    const segment = (ctx.carried ?? 0) as number
    if (segment === segments) return (await approve(ctx, gate)).approved
    for (let i = 0; i < stepsOfSegment; i++) await step(ctx, 'walk', () => 1, { effect: 'read' })
    return ctx.restart(segment + 1)
  },
})
const writer = agent({ name: 'writer', description: 'writes', model: () => 'The next part.' })
const leader = agent({
  name: 'leader',
  workers: [writer],
  run: async (ctx) => {
    for (let i = 0; i < workers; i++) await delegate(ctx, writer, 'Write the next part, please.')
    return (await approve(ctx, gate)).approved
  },
})

/** Lets it run until it waits for its approval, in a store that stays. */
async function untilParked(file: string, root: Agent): Promise<void> {
  await using runtime = (await open(file, root)).runtime
  const run = await runtime.start(root, 'go', { runId: id })
  await run.until('waiting')
}

async function open(file: string, root: Agent): Promise<{ engine: EmbeddedEngine; runtime: Runtime }> {
  const engine = createEmbeddedEngine({ file, durability: 'relaxed' })
  return { engine, runtime: await createRuntime({ agents: [root], engine }) }
}

/** Milliseconds from "wake it" to "it waits again". */
async function wake(file: string, root: Agent): Promise<number> {
  const { engine, runtime } = await open(file, root)
  await sleep(30)
  const begun = performance.now()
  engine.driver.cache.wake([id])
  const activation = engine.driver.runs.get(id)?.root
  if (activation === undefined) throw new Error('it did not wake')
  while (activation.replaying) await turnOfLoop()
  const ms = performance.now() - begun
  await runtime.close()
  return ms
}

async function wakes(file: string, root: Agent): Promise<number> {
  await untilParked(file, root)
  return wakesAgain(file, root)
}

async function wakesAgain(file: string, root: Agent): Promise<number> {
  const seen: number[] = []
  for (let i = 0; i < 8; i++) seen.push(await wake(file, root))
  return median(seen.slice(1))
}

/** Its log is read whole from now on, as a store of before has it. */
function forgetSegments(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM summed')
  db.close()
}

/** The same texts, only parsed. */
function parsing(events: number): number {
  const text = JSON.stringify({
    type: 'step.settled',
    address: 'walk#19999',
    outcome: { status: 'completed', output: 1 },
  })
  const begun = performance.now()
  for (let i = 0; i < events; i++) JSON.parse(text)
  return performance.now() - begun
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const events = 2 * steps
    const replayed = await wakes(join(folder, 'walker.db'), walker)
    const woken = await wakes(join(folder, 'leader.db'), leader)
    const loops = join(folder, 'looper.db')
    const last = await wakes(loops, looper)
    forgetSegments(loops)
    const whole = await wakesAgain(loops, looper)
    return [
      {
        figure: `replay of one activation of ${steps} steps`,
        value: (events * 1000) / replayed,
        unit: 'events/s',
        side: { what: 'JSON.parse alone', value: (events * 1000) / parsing(events) },
        budget: { atLeast: 400_000 },
      },
      { figure: `a leader with ${workers} settled workers wakes in`, value: woken, unit: 'ms', budget: { atMost: 20 } },
      {
        figure: `a log of ${segments * (2 * stepsOfSegment + 1)} entries in ${segments + 1} segments wakes in`,
        value: last,
        unit: 'ms',
        side: { what: 'read whole', value: whole },
      },
    ]
  })
