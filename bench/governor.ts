/**
 * Many runs at once against a model that takes few calls at a time and answers 429 beyond: what is sent, what is
 * refused, and how long it takes, with and without the governor.
 */
import { agent, createRuntime } from 'reeve'
import { failure, FailureError } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { Governor } from '@reeve/engine'
import type { Model } from '@reeve/model'
import { median, sleep, timed, type Row } from './measure.ts'

const runs = 200
const width = 10
const takesMs = 20

/** Nobody waits: as if there were no governor. */
class Ungoverned extends Governor {
  override pass(): ReturnType<Governor['pass']> {
    return { waiting: false, end: () => {} }
  }
}

/** A model that takes so many at once, and counts. */
function narrow(): { model: Model; seen: { sent: number; refused: number } } {
  const seen = { sent: 0, refused: 0 }
  let atOnce = 0
  const model: Model = {
    id: 'bench/narrow',
    async call() {
      seen.sent++
      if (atOnce >= width) {
        seen.refused++
        throw new FailureError(failure('model.unavailable', 'too many', 'rate-limit'))
      }
      atOnce++
      await sleep(takesMs)
      atOnce--
      return { text: 'done', calls: [], finish: 'stop', usage: { input: 1, output: 1 }, model: 'bench/narrow' }
    },
  }
  return { model, seen }
}

interface Figures {
  readonly sent: number
  readonly refused: number
  readonly completed: number
  readonly ms: number
}

async function storm(governor: Governor, attempts: number): Promise<Figures> {
  const { model, seen } = narrow()
  const writer = agent({ name: 'writer', description: 'Writes.', model, retry: { attempts, backoffMs: 50 } })
  const engine = createEmbeddedEngine({ file: ':memory:', governor })
  await using runtime = await createRuntime({ agents: [writer], engine })
  let completed = 0
  const ms = await timed(async () => {
    const outcomes = await Promise.all(Array.from({ length: runs }, () => runtime.run(writer, 'Go.')))
    completed = outcomes.filter(({ status }) => status === 'completed').length
  })
  return { ...seen, completed, ms }
}

export async function run(): Promise<Row[]> {
  const rows: Row[] = []
  for (const attempts of [3, 100]) {
    const [governed, bare]: [Figures[], Figures[]] = [[], []]
    for (let turn = 0; turn < 4; turn++) {
      const [one, other] = [await storm(new Governor(), attempts), await storm(new Ungoverned(), attempts)]
      if (turn === 0) continue // warms up
      governed.push(one)
      bare.push(other)
    }
    const what = `${runs} runs, a model that takes ${width} × ${takesMs} ms, ${attempts} attempts`
    const row = (figure: string, name: keyof Figures, unit: string): Row => ({
      figure: `${figure}: ${what}`,
      value: median(governed.map((each) => each[name])),
      unit,
      side: { what: 'no governor', value: median(bare.map((each) => each[name])) },
    })
    rows.push(
      row('completed', 'completed', 'runs'),
      row('sent', 'sent', 'requests'),
      row('refused', 'refused', '429s'),
      row('time', 'ms', 'ms'),
    )
  }
  return rows
}
