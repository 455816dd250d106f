/** What it costs to look: a run of 100,000 events is opened, shown and followed, beside reading its journal alone. */
import { join } from 'node:path'
import { agent, createRuntime, supervisor, tool, type Runtime } from 'reeve'
import { runId } from '@reeve/core'
import { LiveRuns } from '../packages/server/src/live/live-runs.ts'
import { inFolder, megabytes, timed, turnOfLoop, type Row } from './measure.ts'

const events = 100_000
const id = runId('large')

/** Writes a run: delegations of some thirty events each, in turns of fifty. */
async function make(store: string): Promise<void> {
  const look = tool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen '.repeat(40) })
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    tools: [look],
    model: ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').length < 6
        ? { calls: [{ name: 'look', input: { at: 'x'.repeat(50) } }] }
        : 'found '.repeat(30),
  })
  let turns = Math.ceil(events / 30 / 50)
  const lead = supervisor({
    name: 'lead',
    workers: [worker],
    limits: { turns: 1_000_000, tokens: 1e9 },
    model: () =>
      turns-- > 0
        ? {
            calls: Array.from({ length: 50 }, () => ({
              name: 'delegate',
              input: { worker: 'worker', instructions: 'look at it '.repeat(10) },
            })),
          }
        : 'done',
  })
  await using runtime = await createRuntime({ agents: [lead], store })
  await runtime.run(lead, 'go', { runId: id })
}

/** Opens the run as the first one who looks does. */
async function open(runtime: Runtime): Promise<{ live: LiveRuns; ms: number; cpuMs: number; blockMs: number }> {
  const live = new LiveRuns(runtime)
  let [blockMs, isOpening] = [0, true]
  const watch = (async () => {
    while (isOpening) blockMs = Math.max(blockMs, await timed(turnOfLoop))
  })()
  const before = process.cpuUsage()
  const ms = await timed(async () => (await live.look(id)).state.snapshot())
  const used = process.cpuUsage(before)
  isOpening = false
  await watch
  return { live, ms, cpuMs: (used.user + used.system) / 1000, blockMs }
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const store = join(folder, 'reeve.db')
    await make(store)
    await using runtime = await createRuntime({ store, drive: false })
    const reading = await timed(() => runtime.handle(id).journal())
    const heapBefore = process.memoryUsage().heapUsed
    const cold = await open(runtime)
    const watched = await cold.live.look(id)
    const warm = await timed(async () => (await cold.live.look(id)).state.snapshot())
    const snapshot = watched.state.snapshot()
    const journal = await timed(() => watched.read(watched.rows.find({}, events / 2, 100).rows))
    const filtered = await timed(() => watched.read(watched.rows.find({ family: 'worker' }, 500, 100).rows))
    const spans = await timed(() => watched.spans(0, 5_000))
    // the first one compiles
    watched.state.show(undefined, [])
    const patch = await timed(() => watched.state.show(undefined, []))
    globalThis.gc?.()
    const heap = megabytes(process.memoryUsage().heapUsed - heapBefore)
    cold.live.close()
    const again = await open(runtime)
    again.live.close()
    const side = { what: 'reading the journal alone', value: reading }
    return [
      {
        figure: `a run of ${watched.rows.size.toLocaleString('en')} events opened, first`,
        value: cold.ms,
        unit: 'ms',
        side,
      },
      { figure: '… again, by a new watcher', value: again.ms, unit: 'ms', side, budget: { atMost: 1_000 } },
      { figure: '… its CPU time', value: again.cpuMs, unit: 'ms' },
      { figure: '… longest block of the event loop', value: again.blockMs, unit: 'ms', budget: { atMost: 50 } },
      { figure: 'opened by the next who looks', value: warm, unit: 'ms' },
      { figure: 'snapshot', value: megabytes(snapshot.length), unit: 'MB', budget: { atMost: 3 } },
      { figure: 'memory of a watched run (only with --expose-gc)', value: heap, unit: 'MB' },
      { figure: '100 rows of the journal', value: journal, unit: 'ms' },
      { figure: '… of one family', value: filtered, unit: 'ms' },
      { figure: '5,000 bars of the timeline', value: spans, unit: 'ms' },
      { figure: 'a patch, without what changed', value: patch, unit: 'ms' },
    ]
  })
