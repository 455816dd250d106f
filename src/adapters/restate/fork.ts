/**
 * Forking on Restate: what a fork begins with, as rows of the event store.
 *
 * Owns: which activations there are, and what their leaders are still to be told. Does not own: what is in the plan (engine/fork.ts), the transaction
 * (eventstore/forks.ts). Pure. Whoever begins the root's workflow begins the run: those that take an activation over begin the workflows below it.
 */
import { parentOf, rootActivation, type ActivationId, type RunId, type Shape } from '../../core/index.ts'
import { encode, pathOf, copiedShape, questionShape, mailShape, type ActivationStarted } from '../../journal/index.ts'
import { Account, notRegistered, type ForkPlan, type Mail } from '../../engine/index.ts'
import type { NewFork } from '../eventstore/index.ts'

/** `origin`: whose values they were. `now`: milliseconds since 1970. */
export function newFork(plan: ForkPlan, origin: RunId, now: number, redact: (text: string, shape: Shape) => string): NewFork {
  const { run, agent, version, caller, stream } = plan
  const born = plan.unborn.flatMap(({ activation, first }) => (first === undefined ? [] : [{ activation, seq: 0, at: now, event: first }]))
  const entries = [...plan.entries, ...born]
  const root = rootActivation(run)
  return {
    run,
    agent,
    version,
    caller,
    at: now,
    activations: activationsIn(entries, now),
    entries: entries.map(({ activation: act, seq, at, event }) => ({ act, seq, at, text: redact(encode(event), copiedShape(event)) })),
    forked: plan.entries.findLast(({ activation, event }) => activation === root && event.type === 'run.forked')!.seq,
    accounts: [
      ...plan.accounts,
      ...plan.unborn.flatMap(({ activation, first, limits }) =>
        first === undefined || limits === undefined ? [] : [{ activation, state: new Account(activation, limits).state() }],
      ),
    ],
    questions: plan.questions.map(({ activation: act, at, record }) => ({
      ...record,
      act,
      at,
      body: redact(JSON.stringify(record.body), questionShape),
    })),
    mail: [...plan.mail, ...ends(plan)].map(({ activation: to, key, body }) => ({
      to,
      key,
      body: redact(JSON.stringify(body), mailShape),
    })),
    stream,
    values: [...plan.values].map(([key, value]) => ({
      key,
      value,
      event: encode({ type: 'value.updated', key, value, version: 1, by: origin }),
    })),
  }
}

/** A leader's log begins before those of its workers. */
function activationsIn(entries: ForkPlan['entries'], now: number): NewFork['activations'] {
  const first = new Map<ActivationId, ActivationStarted>()
  const lengths = new Map<ActivationId, number>()
  const settled = new Set<ActivationId>()
  for (const { activation, event } of entries) {
    if (event.type === 'activation.started') first.set(activation, event)
    else if (event.type === 'activation.settled') settled.add(activation)
    lengths.set(activation, (lengths.get(activation) ?? 0) + 1)
  }
  const paths = new Map<ActivationId, readonly string[]>()
  return [...first].map(([id, event]) => {
    const leader = parentOf(id)?.parent
    const path = pathOf(event, leader && paths.get(leader))
    paths.set(id, path)
    return { id, agent: event.agent, version: event.version, path, at: now, length: lengths.get(id)!, settled: settled.has(id) }
  })
}

/** Last words that leaders at work have not heard: of workers that had settled, and of those whose code nobody had. */
function ends({ entries, unborn }: ForkPlan): { readonly activation: ActivationId; readonly key: string; readonly body: Mail }[] {
  const heard = new Set(
    entries.flatMap(({ activation, event }) => (event.type === 'worker.settled' ? [`${activation}>${event.address}`] : [])),
  )
  const over = new Set(entries.flatMap(({ activation, event }) => (event.type === 'activation.settled' ? [activation] : [])))
  const lost = unborn.flatMap(({ activation, agent, first }) =>
    first === undefined ? [{ activation, outcome: notRegistered(agent) }] : [],
  )
  const ended = entries.flatMap(({ activation, event }) =>
    event.type === 'activation.settled'
      ? [{ activation, outcome: event.outcome, ...(event.usage === undefined ? {} : { usage: event.usage }) }]
      : [],
  )
  return [...ended, ...lost].flatMap(({ activation, ...end }) => {
    const leader = parentOf(activation)
    if (leader === undefined || over.has(leader.parent) || heard.has(activation)) return []
    const { parent, address } = leader
    return [{ activation: parent, key: `end:${address}`, body: { type: 'end', address, ...end } }]
  })
}
