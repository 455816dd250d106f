/** Forking on the adversarial engine. It keeps no history of values: a fork begins with those that its origin has now. */
import { rootActivation, type ActivationId, type Json } from '../../core/index.ts'
import { encode, pathOf } from '../../journal/index.ts'
import { doneBy, mustBeSameFork, planFork, streamOf, unknownRun, type ForkPlan, type ForkRun, type Mail } from '../../engine/index.ts'
import type { AdversarialStore, Box, StoredRun } from './store.ts'

/** Forks a run. False: it was forked before. */
export function forkRun(store: AdversarialStore, request: ForkRun, now: number): boolean {
  const { run: from, to } = request
  const stored = store.runs.get(from)
  if (stored === undefined) throw unknownRun(from)
  if (store.runs.has(to)) {
    mustBeSameFork(store.feed(to, 0), request)
    return false
  }
  const boxes = store.boxesOf(from)
  const caller = store.caller(from)
  const prefix = `${streamOf(caller, from)}/`
  const plan = planFork(
    request,
    {
      agent: stored.agent,
      version: stored.version,
      caller,
      feed: store.feed(from, 0),
      mail: boxes.flatMap(unread),
      limits: new Map(boxes.flatMap(({ id, limits }) => (limits === undefined ? [] : [[id, limits] as const]))),
      values: new Map(
        [...store.values].flatMap(([key, { body }]) =>
          key.startsWith(prefix) ? [[key.slice(prefix.length), JSON.parse(body) as Json] as const] : [],
        ),
      ),
    },
    now,
  )
  const run: StoredRun = {
    ...stored,
    id: to,
    caller: JSON.stringify(plan.caller ?? {}),
    createdAt: now,
    order: store.runs.size,
    pause: undefined,
    ended: undefined,
    done: doneIn(plan),
  }
  store.runs.set(to, run)
  write(store, plan)
  return true
}

function doneIn({ entries }: ForkPlan): StoredRun['done'] {
  const forked = entries.findLast(({ event }) => event.type === 'run.forked')?.event
  return forked?.type === 'run.forked' ? doneBy(forked) : undefined
}

/** What was sent and not taken: in inboxes, and on its way to them. */
const unread = ({ rows, out }: Box): Mail[] => [
  ...[...rows.values()].flatMap(({ body, taken }) => (taken ? [] : [JSON.parse(body) as Mail])),
  ...[...out.values()].flatMap(({ body }): Mail[] => (body.type === 'message' ? [body] : [])),
]

/** As if it had just been sent: it is swept up, also if whom it is for is born later. */
function onItsWay({ id: from, out }: Box, to: ActivationId, id: string, body: Json): void {
  const nth = [...out.values()].filter((letter) => letter.to === to && letter.body.type === 'message').length
  out.set(id, { key: id, from, to, body: { type: 'message', id, from, body, nth }, acked: false })
}

function write(store: AdversarialStore, plan: ForkPlan): void {
  const limits = new Map(plan.accounts.map(({ activation, state }) => [activation, state.limits]))
  for (const { activation, at, event } of plan.entries) {
    const leader = store.boxes.get(activation.slice(0, Math.max(0, activation.lastIndexOf('>'))) as ActivationId)
    const known = store.boxes.get(activation)
    const path = event.type === 'activation.started' ? pathOf(event, leader?.path) : []
    const box = known ?? store.box(activation, path, limits.get(activation))
    store.append(box, at, encode(event))
    if (event.type === 'activation.settled') box.settled = true
  }
  for (const { activation, at, record } of plan.questions) {
    const { until, kind, ...rest } = record
    const timer = kind === 'timer'
    const due = until === null ? undefined : timer ? until : until + 1
    const asked = { ...rest, kind: kind === 'timer' ? ('interrupt' as const) : kind, timer, due, run: plan.run, activation, askedAt: at }
    store.boxes.get(activation)?.questions.set(record.id, until === null ? asked : { ...asked, until })
  }
  for (const { activation, key, body } of plan.mail) {
    const sender = body.type === 'message' && body.from !== undefined ? store.boxes.get(body.from) : undefined
    const box = store.boxes.get(activation)
    if (sender !== undefined && body.type === 'message') onItsWay(sender, activation, key, body.body)
    else if (box !== undefined) store.put(box, body.type === 'message' ? `msg:${key}` : key, body)
  }
  for (const [key, value] of plan.values) store.values.set(`${plan.stream}/${key}`, { version: 1, body: JSON.stringify(value) })
  // the root is first
  store.boxes.get(rootActivation(plan.run))!.parked = false
}
