/**
 * Forking: everything that a fork begins with is written in one transaction, then it is a run like any other that no
 * process drives yet.
 *
 * Owns: reading the origin, writing the plan. Does not own: what is in the plan (../fork/fork.ts).
 */
import {
  present,
  ReeveError,
  rootActivation,
  isChildRun,
  rootRun,
  Slices,
  type ActivationId,
  type RunId,
} from '@reeve/core'
import {
  callerShape,
  childRunsIn,
  copiedResultShape,
  encode,
  journalPages,
  questionShape,
  valueShape,
  withoutPlainDigests,
  type Caller,
  type JournalEvent,
  type Recorded,
  type RunForked,
} from '@reeve/journal'
import { asOneRun } from '../fork/fork-children.ts'
import { mustBeSameFork, planFork, redactedFork, type ForkOrigin, type ForkPlan } from '../fork/fork.ts'
import { keysOfNamed } from '../contents.ts'
import type { InboxMail } from '../mail.ts'
import { unknownRun, type ForkRun } from '../port.ts'
import type { Batch, StoredOrigin, StoreReader } from '../store.ts'
import { runStream, streamOf } from '../streams.ts'
import type { Driver } from './driver.ts'

/** Forks a run. Resolves when it is durable. */
export async function forkRun(driver: Driver, request: ForkRun): Promise<{ readonly created: boolean }> {
  const { to } = request
  const { reader } = driver.store
  const again = async (): Promise<{ created: boolean }> => {
    mustBeSameFork(await forkedIn(reader, to), request, driver.options.redact)
    return { created: false }
  }
  const origin = await originOf(reader, request)
  if (driver.runs.has(to) || (await reader.run(to)) !== undefined) return await again()
  const plan = await planFork(redactedFork(request, driver.options.redact), origin, driver.clock.now())
  const log = await logRows(driver, plan)
  const keys = await sharedKeys(driver, plan, log)
  // another call may have begun it meanwhile
  if (driver.runs.has(to) || (await reader.run(to)) !== undefined) return await again()
  if (keys.length > 0) driver.batch.shares.push({ from: plan.from, to, keys })
  write(driver, plan, log)
  const durable = driver.durable(to)
  driver.schedule()
  if (await durable) return await again()
  driver.cache.offer(to)
  return { created: true }
}

async function originOf(reader: StoreReader, { run, at }: ForkRun): Promise<ForkOrigin> {
  if (isChildRun(run))
    throw new ReeveError('fork.invalid', `${run} is a child run of ${rootRun(run)}`, {
      hint: `Fork the run itself: reeve events ${rootRun(run)}. Its fork does all of its work in one run.`,
    })
  const origin = await storedOrigin(reader, run, at, (caller) => streamOf(caller, run))
  if (origin === undefined) throw unknownRun(run)
  const { agent, version, caller } = origin.run
  const children = new Map<RunId, Pick<ForkOrigin, 'feed' | 'limits'>>()
  for (const wanted = [...childRunsIn(origin.feed)]; wanted.length > 0;) {
    const id = wanted.pop()!
    const child = await storedOrigin(reader, id, 0, () => runStream(id))
    if (child === undefined) continue
    children.set(id, { feed: child.feed, limits: limitsOf(child) })
    wanted.push(...childRunsIn(child.feed))
  }
  const own: ForkOrigin = {
    agent,
    version,
    caller: caller === null ? undefined : (JSON.parse(caller) as Caller),
    feed: origin.feed,
    mail: origin.mail.map(({ body }) => JSON.parse(body) as InboxMail),
    limits: limitsOf(origin),
    values: origin.values,
  }
  return asOneRun(run, own, children)
}

const pagesIn = (reader: StoreReader, run: RunId): AsyncGenerator<readonly Recorded[], undefined> =>
  journalPages((from, limit, length) => reader.feed(run, from, limit, length))

/** What a run is at one moment. What of its feed was there before is read by the page. */
async function storedOrigin(
  reader: StoreReader,
  ...[run, at, stream]: Parameters<StoreReader['origin']>
): Promise<StoredOrigin | undefined> {
  const begun = await reader.run(run)
  const read: Recorded[] = []
  for await (const page of pagesIn(reader, run)) read.push(...page)
  const origin = await reader.origin(run, at, stream, read)
  // another run of its id may have begun meanwhile
  return origin?.run.created === begun?.created ? origin : storedOrigin(reader, run, at, stream)
}

/** What a run was forked from. */
async function forkedIn(reader: StoreReader, run: RunId): Promise<RunForked | undefined> {
  for await (const page of pagesIn(reader, run))
    for (const { event } of page) if (event.type === 'run.forked') return event
  return undefined
}

const limitsOf = ({ accounts }: StoredOrigin): ForkOrigin['limits'] =>
  new Map([...accounts].map(([activation, { limits }]) => [activation, limits]))

/** Puts the plan into the batch: rows that compete with others count only if the run is new, as everything of it. */
function write(driver: Driver, plan: ForkPlan, log: Batch['log']): void {
  const { batch, clock, options } = driver
  const { run, agent, version, caller } = plan
  const at = clock.now()
  batch.runs.push({
    id: run,
    agent,
    version,
    caller: caller === undefined ? null : options.redact(JSON.stringify(caller), callerShape),
    at,
    owner: null,
  })
  // what it writes to itself counts, if it is new
  batch.epochs.set(run, 1)
  const acts = new Set<ActivationId>([rootActivation(run)])
  for (const { activation } of plan.entries) acts.add(activation)
  batch.acts.push(...acts)
  for (const row of log) batch.log.push(row)
  for (const { activation, state } of plan.accounts) batch.accounts.push({ act: activation, run, state })
  for (const { activation, at: asked, record } of plan.questions)
    batch.questions.push({
      ...record,
      act: activation,
      at: asked,
      body: options.redact(JSON.stringify(record.body), questionShape),
      ...present({ tenant: caller?.tenant }),
    })
  const unheard = (): undefined => undefined
  for (const { activation, key, body } of plan.mail)
    driver
      .post({ act: activation, target: 'activation', key, kinds: undefined, from: run, body: JSON.stringify(body) })
      .catch(unheard)
  for (const [key, value] of plan.values) writeValue(driver, plan, key, JSON.stringify(value))
}

/** The entries of the plan as they are stored. */
async function logRows({ options: { redactEntry } }: Driver, { run, entries }: ForkPlan): Promise<Batch['log']> {
  const rows: Batch['log'] = []
  const opened = new Map<string, JournalEvent['type']>()
  for await (const piece of new Slices().of(entries))
    for (const { activation, seq, at, event } of piece) {
      if ('op' in event) opened.set(`${activation} ${event.address}`, event.type)
      let body = encode(event)
      if (redactEntry !== undefined) {
        // the origin may be of before these rules
        const result =
          event.type === 'step.settled' ? copiedResultShape(opened.get(`${activation} ${event.address}`)) : undefined
        body = redactEntry(encode(withoutPlainDigests(event)), event, result)
      }
      rows.push({ act: activation, run, seq, at, body })
    }
  return rows
}

/** Of the contents of the origin, what the fork begins with names: it keeps them when the origin is removed. */
const sharedKeys = (
  { store }: Driver,
  { from, mail, values }: ForkPlan,
  log: Batch['log'],
): Promise<readonly string[]> => keysOfNamed(store, from, [...log, ...mail, ...values].map(textIn))
const textIn = (row: Batch['log'][number] | ForkPlan['mail'][number] | readonly [string, unknown]): string =>
  'seq' in row ? row.body : JSON.stringify(row)

/** What the fork begins with its origin has written, at the moment of the fork (fork-values.ts). */
function writeValue(driver: Driver, { run, from, at, stream }: ForkPlan, key: string, value: string): void {
  const body = driver.options.redact(value, valueShape(stream, key))
  const event = encode({ type: 'value.updated', key, value: JSON.parse(body) as never, version: 1, by: from })
  const by = { run, once: `fork:${key}` }
  driver.writeValue({ stream, key, expected: 0, body, by, event, at }).catch(() => undefined)
}
