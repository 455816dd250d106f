/**
 * A store that is away for a while: whoever waits for the end of a run hears it when the store is back, whatever had
 * failed when. Only what would never pass is told (K5, K9).
 */
import { describe, expect, test } from 'vitest'
import { ReeveError, type RunId } from '@reeve/core'
import {
  answer,
  ask,
  begin,
  errorOf,
  inFolder,
  open,
  outcome,
  registry,
  step,
  until,
  type Agent,
  type Opened,
} from './hand.ts'

const away = new ReeveError('store.unavailable', 'away', { retryable: true })
const gone = new ReeveError('store.unavailable', 'gone')

/** Changes what a method of the store does, until it is let go. */
function instead<T extends object, K extends keyof T & string>(on: T, name: K, does: T[K]): () => void {
  Object.defineProperty(on, name, { configurable: true, value: does })
  return () => void Reflect.deleteProperty(on, name)
}

/** Everything that is asked of the store fails from now on. Returns how it comes back. */
function fails({ store }: Opened, error = away): () => void {
  const failing = (): never => {
    throw error
  }
  const back = [
    ...(['commit', 'claim', 'unread'] as const).map((name) => instead(store, name, failing)),
    ...(['run', 'end', 'ends'] as const).map((name) => instead(store.reader, name, failing)),
  ]
  return () => {
    for (const each of back) each()
  }
}

/** An effect that ends when the test says so. */
class Gate {
  #open: (() => void) | undefined
  readonly opened = new Promise<void>((resolve) => (this.#open = resolve))
  hasBegun = false
  readonly pass = async (): Promise<string> => {
    this.hasBegun = true
    await this.opened
    return 'passed'
  }
  open(): void {
    this.#open!()
  }
}

const agents = (gate: Gate): Record<string, Agent> => ({
  worker: (ctx) => step(ctx, 'work', gate.pass),
  asker: ask,
})
const done = { status: 'completed', output: 'passed' }

/** An engine with a run of this agent, that has got as far as it comes by itself. */
async function at(agent: 'worker' | 'asker'): Promise<{ engine: Opened; gate: Gate; file: string }> {
  const file = inFolder()
  const engine = open(file)
  const gate = new Gate()
  engine.drive(registry(agents(gate)))
  await begin(engine, 'r', agent)
  if (agent === 'worker') await until('it is at work', () => gate.hasBegun)
  else
    await until(
      'it is out of memory',
      async () => (await engine.questions()).length === 1 && !engine.driver.runs.has('r' as RunId),
    )
  return { engine, gate, file }
}

describe('an outcome that is awaited', () => {
  test('while a commit fails is heard when the run has gone on', async () => {
    const { engine, gate } = await at('worker')
    const waiting = outcome(engine, 'r')
    const back = fails(engine)
    gate.open()
    await until('it was tried again, in vain', () => engine.warnings.length > 2)
    back()
    expect(await waiting).toEqual(done)
  })

  test('while a commit is written, and its answer is lost, is heard', async () => {
    const { engine, gate } = await at('worker')
    const waiting = outcome(engine, 'r')
    const { store } = engine
    const commit = store.commit.bind(store)
    const back = instead(store, 'commit', (batch) => {
      const ends = batch.ended.length > 0
      const written = commit(batch)
      if (!ends) return written
      back()
      throw away
    })
    gate.open()
    expect(await waiting).toEqual(done)
    expect(engine.warnings).toEqual(['store.unavailable', 'store.available'])
  })

  test('is asked for again where the store could not tell the ends of runs that other processes move', async () => {
    const file = inFolder()
    const [mover, reader] = [open(file), open(file)]
    const gate = new Gate()
    mover.drive(registry(agents(gate)))
    await begin(mover, 'r', 'worker')
    const waiting = outcome(reader, 'r')
    let asked = 0
    const back = instead(reader.store.reader, 'ends', () => {
      asked++
      throw away
    })
    gate.open()
    await mover.outcome('r' as RunId)
    await until('its end was asked for', () => asked > 0)
    // nothing more is written that anybody could hear of
    expect(await waiting).toEqual(done)
    back()
  })

  test('from when the store is away is heard when it is back, with one warning, and one word that it is over', async () => {
    const { engine, file } = await at('asker')
    const reader = open(file)
    expect(await reader.summary('r' as RunId)).toMatchObject({ status: 'waiting' })
    let asked = 0
    const back = instead(reader.store.reader, 'run', () => {
      asked++
      throw away
    })
    const waiting = outcome(reader, 'r')
    await until('it was asked for again', () => asked > 2)
    back()
    await answer(engine, 'r', 'yes')
    expect((await waiting).status).toBe('completed')
    expect(reader.warnings).toEqual(['store.unavailable', 'store.available'])
  })

  test('on a store that never was there is refused at once', async () => {
    const engine = open(inFolder())
    const back = fails(engine)
    expect(await errorOf(() => outcome(engine, 'r'))).toMatchObject({ code: 'store.unavailable', retryable: true })
    back()
  })

  test('news of an unknown run arrives as soon as it can be known', async () => {
    const { engine } = await at('asker')
    const back = fails(engine)
    const waiting = errorOf(() => outcome(engine, 'nobody'))
    await until('it is told', () => engine.warnings.length > 0)
    back()
    expect((await waiting).code).toBe('run.unknown')
  })

  test('of a run that could not be begun is told so', async () => {
    const { engine } = await at('asker')
    const back = fails(engine)
    const begun = errorOf(() => begin(engine, 'new', 'worker'))
    const waiting = errorOf(() => outcome(engine, 'new'))
    expect(await begun).toMatchObject({ code: 'store.unavailable', retryable: true })
    back()
    expect((await waiting).code).toBe('run.unknown')
  })

  test('rejects where the failure will not pass', async () => {
    const { engine, gate } = await at('worker')
    const waiting = errorOf(() => outcome(engine, 'r'))
    const back = fails(engine, gone)
    gate.open()
    expect(await waiting).toMatchObject({ code: 'store.unavailable', retryable: false })
    expect(await errorOf(() => outcome(engine, 'r'))).toMatchObject({ code: 'store.unavailable', retryable: false })
    back()
    expect(await outcome(engine, 'r')).toEqual(done)
  })

  test('ends with the engine', async () => {
    const { engine } = await at('asker')
    const back = fails(engine)
    const waiting = errorOf(() => outcome(engine, 'r'))
    await until('it is told', () => engine.warnings.length > 0)
    back()
    await engine.close()
    expect((await waiting).code).toBe('engine.closed')
  })
})
