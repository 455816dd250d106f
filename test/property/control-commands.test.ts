/**
 * Random words of operators to a run, against the table of R-13 as a model: states, owners, what is ignored, ids said
 * twice, other processes in between. Spec team 1.13, C65, C69; K2, K8.
 */
import { describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, ReeveError, type Run, type Runtime } from '@reeve/public'
import { seededRandom } from '@reeve/core'
import { MemoryStore } from '@reeve/engine/memory'
import { adversarialEngine, badWeather, storm } from '../../packages/contract/src/index.ts'

/** Asks again and again, until somebody says `end`. */
const asker = agent({
  name: 'asker',
  description: 'Asks.',
  run: async (ctx) => {
    for (let n = 0; ; n++) {
      const said = await ctx.interrupt({ n })
      await ctx.step(`work${n}`, () => n)
      if (said === 'end') return n
    }
  },
})
const lead = agent({ name: 'lead', workers: [asker], run: async (ctx) => (await ctx.delegate(asker, 'go')).status })

type State = 'running' | 'paused' | 'human_control' | 'completed' | 'cancelled'
interface Model {
  state: State
  by: string | undefined
  ops: [op: string, accepted: boolean, by: string][]
}

const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (thrown: unknown) => (ReeveError.is(thrown) ? thrown.code : String(thrown)),
  )

/** What the table says of this word, and what it does to the model. */
function table(model: Model, op: string, by: string): string {
  const { state } = model
  const note = (accepted: boolean): string => (model.ops.push([op, accepted, by]), 'ok')
  const to = (next: State): string => ((model.state = next), (model.by = by), note(true))
  if (state === 'completed' || state === 'cancelled') {
    if (op === 'cancel' && state === 'cancelled') return 'ok'
    return 'run.ended'
  }
  switch (op) {
    case 'pause':
      return state === 'running' ? to('paused') : note(false)
    case 'resume':
      return state === 'human_control' ? 'run.taken-over' : state === 'paused' ? to('running') : 'run.not-paused'
    case 'takeover':
      return state === 'human_control' ? note(false) : to('human_control')
    case 'handback':
      return state === 'human_control' ? to('running') : 'run.not-taken-over'
    case 'finish':
      return state === 'human_control' ? to('completed') : 'run.not-taken-over'
    default:
      return to('cancelled')
  }
}

const said = (run: Run, op: string, by: string, id: string): Promise<unknown> => {
  switch (op) {
    case 'pause':
      return run.control.pause({ by, reason: `${by} says so` })
    case 'resume':
      return run.control.resume(by)
    case 'takeover':
      return run.control.takeOver({ by, id })
    case 'handback':
      return run.control.handBack({ by, id })
    case 'finish':
      return run.control.finish({ by, output: 'by hand' })
    default:
      return run.control.cancel('enough', by)
  }
}

async function agrees(run: Run, model: Model, trail: string): Promise<void> {
  await expect
    .poll(async () => (await run.control.state()).ops.map(({ op, accepted, by }) => [op, accepted, by]), {
      timeout: 5_000,
      message: trail,
    })
    .toEqual(model.ops)
  const shown = async () => {
    const { state } = await run.control.state()
    return state === 'waiting' ? 'running' : state
  }
  await expect.poll(shown, { timeout: 5_000, message: trail }).toBe(model.state)
  if (model.state === 'paused' || model.state === 'human_control')
    expect((await run.control.state()).by, trail).toBe(model.by)
  const takeover = await run.control.context()
  expect(takeover.owner, trail).toBe(model.state === 'human_control' ? model.by : undefined)
  expect(JSON.parse(JSON.stringify(takeover))).toEqual(takeover)
}

async function walk(
  seed: string,
  root: typeof lead,
  open: () => Promise<Runtime>,
  words: number,
): Promise<[end: string, expected: string]> {
  let drawn = 0
  const random = (): number => seededRandom(seed, drawn++)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  let runtime = await open()
  try {
    let run = (await runtime.start(root, 'go', { runId: `run_${seed}` })) as unknown as Run
    await run.until('waiting')
    const model: Model = { state: 'running', by: undefined, ops: [] }
    const ops = [
      'pause',
      'pause',
      'resume',
      'resume',
      'takeover',
      'takeover',
      'handback',
      'handback',
      'answer',
      'restart',
      'twice',
    ]
    let trail = seed
    let last: { op: string; by: string; id: string } | undefined
    for (let n = 0; n < words; n++) {
      const op = n === words - 2 ? pick(['cancel', 'finish', 'takeover']) : n === words - 1 ? 'cancel' : pick(ops)
      const by = pick(['ann', 'bob', 'eve'])
      trail += ` ${op}:${by}`
      let answered = ['', '']
      if (op === 'restart') {
        await runtime.close()
        runtime = await open()
        run = runtime.handle(`run_${seed}`)
      } else if (op === 'answer') {
        // a human's answer that comes meanwhile counts, and acts when the run goes on
        const [asked] = (await run.view()).interrupts
        if (asked !== undefined) await code(runtime.answer({ interruptId: asked.id, value: 'more', by }))
      } else if (op !== 'twice' || (last !== undefined && model.state !== 'completed' && model.state !== 'cancelled')) {
        // one id is one command, whoever says it and whatever became of it
        const again = op === 'twice' ? last : undefined
        const id = again?.id ?? `${seed}-${n}`
        const expected =
          again === undefined
            ? table(model, op, by)
            : again.op === 'handback' && model.state !== 'human_control'
              ? 'run.not-taken-over'
              : 'ok'
        answered = [await code(said(run, again?.op ?? op, again?.by ?? by, id)), expected]
        // it was let go on a moment ago, and is not known to wait again: then the word is noted
        if (op === 'resume' && expected === 'run.not-paused' && answered[0] === 'ok') {
          model.ops.push([op, false, by])
          answered[1] = 'ok'
        }
        if ((op === 'takeover' || op === 'handback') && expected === 'ok') last = { op, by, id }
      }
      expect(answered[0], trail).toBe(answered[1])
      await agrees(run, model, trail)
    }
    return [(await run.outcome()).status, model.state]
  } finally {
    await runtime.close()
  }
}

describe('the table of R-13', () => {
  test.each(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])(
    'team C65: embedded, over processes: seed %s',
    async (seed) => {
      const folder = mkdtempSync(join(tmpdir(), 'reeve-control-'))
      try {
        const [end, expected] = await walk(
          seed,
          lead,
          () => createRuntime({ store: join(folder, 's.db'), agents: [lead], strict: true }),
          14,
        )
        expect(end).toBe(expected)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    30_000,
  )

  const storms = ['five', 'six', 'seven', 'eight'].map((seed) => [seed, storm] as const)
  test.each([...['one', 'two', 'three', 'four'].map((seed) => [seed, badWeather] as const), ...storms])(
    'team C65: adversarial engine: seed %s',
    async (seed, weather) => {
      const store = new MemoryStore({})
      const open = () =>
        createRuntime({ engine: adversarialEngine({ seed, store, weather, strict: true }), agents: [lead] })
      const [end, expected] = await walk(seed, lead, open, 14)
      expect(end).toBe(expected)
    },
    30_000,
  )
})
