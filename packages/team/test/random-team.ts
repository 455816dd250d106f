/** Random plans, members and rules by a seed, and everything that must be true of the journal of any of them. */
import { agent, sleep, step, teammate, type Agent } from '@reeve/agent'
import type { Json, PlanResults } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { DependencyPolicy, JournalEvent, Recorded } from '@reeve/journal'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'

/** The same numbers for the same seed. */
function dice(seed: number): {
  upTo(most: number): number
  chance(percent: number): boolean
  one<T>(of: readonly T[]): T
} {
  let state = (seed * 2_654_435_761) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const upTo = (most: number): number => Math.floor(next() * (most + 1))
  return { upTo, chance: (percent) => next() * 100 < percent, one: (of) => of[upTo(of.length - 1)]! }
}

/** A random team, and what it was made of. */
export interface Drawn {
  readonly root: Agent
  readonly subtasks: readonly Subtask[]
  readonly options: Partial<TeamOptions<string>>
}

type Act = (ctx: Context, attempt: number) => Promise<Json | undefined>

/** What one member does, one thing after the other. The last word is its output. */
function acts(
  roll: ReturnType<typeof dice>,
  id: string,
  n: number,
  topics: readonly string[],
  second: number,
): readonly Act[] {
  const all: Act[] = []
  const nap = roll.upTo(6) * second
  all.push((ctx) => sleep(ctx, nap).then(() => undefined))
  if (roll.chance(15)) {
    const join = roll.one(['parent', 'run', 'none', undefined] as const)
    const more = {
      description: `help ${id}`,
      role: roll.one(['helper', 'scout']),
      ...(join === undefined ? {} : { join }),
    }
    all.push(async (ctx) => void (await teammate(ctx).recruit(more)))
  }
  if (roll.chance(10)) {
    const wish = { member: `generalist_${1 + roll.upTo(n)}`, mode: roll.one(['graceful', 'force'] as const) }
    all.push(async (ctx) => void (await teammate(ctx).retire(wish)))
  }
  if (roll.chance(20)) {
    const to = roll.one(['*', 'role:generalist', `generalist_${1 + roll.upTo(n)}`, 'nobody'])
    all.push(async (ctx) => void (await teammate(ctx).send({ to, content: `from ${id}` })))
  }
  if (roll.chance(20)) all.push(async (ctx) => void (await teammate(ctx).inbox()))
  if (topics.length > 0 && roll.chance(40)) {
    const topic = roll.one(topics)
    all.push(async (ctx) => void (await teammate(ctx).publish(topic, `early ${id}`)))
    all.push((ctx) => sleep(ctx.scope('more'), 2 * second).then(() => undefined))
  }
  const end = roll.upTo(99)
  const tries = 1 + roll.upTo(2)
  if (end < 12) all.push(() => Promise.reject(new Error('no luck')))
  else if (end < 22)
    all.push((_ctx, attempt) => (attempt <= tries ? Promise.reject(new Error('not yet')) : Promise.resolve('at last')))
  else if (end < 28) all.push(async () => ({ success: false, error: 'it says so' }))
  else if (end < 34) all.push((ctx) => sleep(ctx.scope('long'), 40 * second).then(() => 'late'))
  else all.push((ctx) => step(ctx, 'work', () => `${id} is done`))
  return all
}

/** The team of this seed, of 2 to `most` tasks. `second`: how many milliseconds a second has. */
export function drawn(seed: number, most = 12, second = 1_000): Drawn {
  const roll = dice(seed)
  const count = 2 + roll.upTo(most - 2)
  const ids = Array.from({ length: count }, (_, i) => `t${i}`)
  const rank = new Map(ids.map((id) => [id, roll.upTo(1_000) * 100 + roll.upTo(99)]))
  const before = (id: string): readonly string[] => ids.filter((other) => rank.get(other)! < rank.get(id)!)
  const policies: readonly DependencyPolicy[] = ['tolerate', 'require', 'fail']
  const produces = new Map<string, string[]>()
  const topics = ['news', 'prices'].slice(0, roll.upTo(2))
  for (const topic of topics)
    for (const id of ids) if (roll.chance(15)) produces.set(id, [...(produces.get(id) ?? []), topic])
  const producersOf = (topic: string): readonly string[] => ids.filter((id) => produces.get(id)?.includes(topic))
  const subtasks = ids.map((id): Subtask => {
    const near = before(id)
    const dependencies = near.filter(() => roll.chance(20)).slice(0, 4)
    const consumes = topics.filter(
      (topic) => roll.chance(20) && producersOf(topic).every((each) => near.includes(each)),
    )
    const onMissing = roll.chance(30)
      ? roll.one(policies)
      : Object.fromEntries(dependencies.filter(() => roll.chance(40)).map((each) => [each, roll.one(policies)]))
    return {
      id,
      description: id,
      ...(dependencies.length === 0 ? {} : { dependencies }),
      ...(consumes.length === 0 ? {} : { consumes }),
      ...(produces.has(id) ? { produces: produces.get(id)! } : {}),
      ...(typeof onMissing === 'object' && Object.keys(onMissing).length === 0 ? {} : { onMissing }),
      ...(roll.chance(4) ? { critical: true } : {}),
      ...(roll.chance(30) ? { estimate: { tokens: 100 * roll.upTo(5) } } : {}),
    }
  })
  const doings = new Map(ids.map((id) => [id, acts(roll, id, count, produces.get(id) ?? [], second)]))
  const helps = acts(roll, 'help', count, [], second)
  const generalist = agent({
    name: 'generalist',
    description: 'Does what the task says.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const { attempt } = teammate(ctx)
      let last: Json = null
      for (const [i, act] of (doings.get(brief.split('\n')[0]!) ?? helps).entries())
        last = (await act(ctx.scope(`act ${i}`), attempt)) ?? last
      return last
    },
  })
  const options: Partial<TeamOptions<string>> = {
    concurrency: 1 + roll.upTo(4),
    tolerance: roll.one([0, 20, 50, 50, 100] as const),
    retry: roll.one([{ backoffMs: 0 }, { attempts: 2, backoffMs: 1.5 * second, jitter: false }] as const),
    timeoutMs: 20 * second,
    dependencies: {
      policy: roll.one(['tolerate', ...policies]),
      timeoutMs: roll.one([0, 5 * second, 360 * second]),
      passAll: roll.chance(20),
    },
    recruit: { countFailures: roll.chance(20) },
    ...(roll.chance(15) ? { strategy: 'sequential' as const } : {}),
    ...(roll.chance(15) ? { maxFailures: 1 + roll.upTo(3) } : {}),
    ...(roll.chance(20) ? { budget: { tokens: 800, mode: roll.one(['hard', 'soft'] as const) } } : {}),
  }
  return {
    root: team({ name: 'analysts', roles: { generalist }, planner: { subtasks }, ...options }),
    subtasks,
    options,
  }
}

interface Task {
  readonly id: string
  readonly place: number
  readonly dependencies: readonly string[]
  readonly consumes: readonly string[]
  readonly recruit: { readonly parent?: string; readonly join?: string } | undefined
  starts: number
  working: string | undefined
  status: string | undefined
  retried: boolean
}

/**
 * Everything that is wrong with the journal of a team's run; empty if nothing. `timed`: its clock moves only when
 * nothing else does.
 */
export function wrongWith(
  { subtasks, options }: Drawn,
  events: readonly Recorded[],
  results: PlanResults | undefined,
  timed = true,
): readonly string[] {
  const wrong: string[] = []
  const tasks = new Map<string, Task>()
  const byId = new Map(subtasks.map((each) => [each.id, each]))
  const published = new Set<string>()
  const add = (id: string, recruit?: Task['recruit']): void => {
    const { dependencies = [], consumes = [] } = byId.get(id) ?? {}
    tasks.set(id, {
      id,
      place: tasks.size,
      dependencies,
      consumes,
      recruit,
      starts: 0,
      working: undefined,
      status: undefined,
      retried: false,
    })
  }
  const policy = (task: Task, on: string): DependencyPolicy => {
    const { onMissing } = byId.get(task.id) ?? {}
    return (typeof onMissing === 'string' ? onMissing : onMissing?.[on]) ?? options.dependencies?.policy ?? 'tolerate'
  }
  const joined = (ids: readonly string[]): readonly Task[] => {
    const found = ids.map((id) => tasks.get(id)!)
    for (const each of found)
      for (const other of tasks.values())
        if (other.recruit?.join === 'parent' && other.recruit.parent === each.id && !found.includes(other))
          found.push(other)
    return found
  }
  /** Why it may not begin. */
  const hindered = (task: Task): string | undefined => {
    for (const on of joined(task.dependencies)) {
      if (on === task) continue
      if (on.status === undefined) return `${on.id} has not ended`
      if (on.recruit === undefined && on.status !== 'succeeded' && policy(task, on.id) !== 'tolerate')
        return `${on.id} ${on.status}`
    }
    for (const topic of task.consumes) {
      const producers = [...tasks.values()].filter(
        ({ id }) => id !== task.id && byId.get(id)?.produces?.includes(topic),
      )
      if (producers.length === 0 || published.has(topic)) continue
      if (producers.some(({ status }) => status === undefined)) return `${topic} is open`
      if (policy(task, topic) !== 'tolerate') return `${topic} is missing`
    }
    return undefined
  }
  let concurrency = 0
  let maxFailures = 0
  let failedCount = 0
  let isOver = false
  let mustEnd = false
  let at = 0
  let ends = 0
  const working = (): number => [...tasks.values()].filter((each) => each.working !== undefined).length
  const limited = options.budget?.mode === 'hard'
  for (const { at: now, activation, event } of events) {
    if (timed && now !== at && !isOver && concurrency > 0 && !limited && ends === 0) {
      const idle = [...tasks.values()].filter(
        (each) => each.status === undefined && each.starts === 0 && hindered(each) === undefined,
      )
      if (idle.length > 0 && working() < concurrency) wrong.push(`${at}: ${idle[0]!.id} could work, and there is room`)
    }
    at = now
    if (mustEnd && event.type !== 'plan.aborted' && ['task.started', 'results.synthesised'].includes(event.type))
      wrong.push(`it must be given up, and there is ${event.type}`)
    fold(event, activation)
  }
  function fold(event: JournalEvent, activation: string): void {
    const isRoot = !activation.includes('>')
    if (ends > 0 && isRoot) wrong.push(`${event.type} after the end`)
    switch (event.type) {
      case 'plan.created':
        if (tasks.size > 0) wrong.push('two plans')
        for (const { task } of event.tasks) add(task)
        ;({ concurrency, maxFailures } = event)
        return
      case 'teammate.joined':
        if (!tasks.has(event.task)) {
          if (event.recruited === undefined) wrong.push(`${event.member} joins for a task that there is not`)
          add(event.task, {
            ...(event.parent === undefined ? {} : { parent: event.parent }),
            ...(event.join === undefined ? {} : { join: event.join }),
          })
        }
        return
      case 'task.unblocked': {
        const task = tasks.get(event.task)!
        const missing = [...joined(task.dependencies)].filter(({ status }) => status !== 'succeeded')
        if (
          missing.length > 0 ||
          task.consumes.some(
            (topic) =>
              !published.has(topic) && subtasks.some(({ id, produces }) => id !== task.id && produces?.includes(topic)),
          )
        )
          wrong.push(`${event.task} is unblocked in vain`)
        if (task.dependencies.length + task.consumes.length === 0) wrong.push(`${event.task} never waited`)
        return
      }
      case 'task.started': {
        const task = tasks.get(event.task)!
        if (isOver) wrong.push(`${event.task} begins after the abort`)
        if (task.status !== undefined) wrong.push(`${event.task} begins after its end`)
        if (task.working !== undefined) wrong.push(`${event.task} begins twice at once`)
        if (event.attempt !== ++task.starts)
          wrong.push(`${event.task}: attempt ${event.attempt} is its start ${task.starts}`)
        if (task.starts === 1) {
          const why = hindered(task)
          if (why !== undefined) wrong.push(`${event.task} begins although ${why}`)
          const first = [...tasks.values()].find(
            (each) =>
              each.place < task.place && each.status === undefined && each.starts === 0 && hindered(each) === undefined,
          )
          if (first !== undefined && !limited) wrong.push(`${event.task} begins before ${first.id}`)
        }
        task.working = event.activation
        if (working() > concurrency) wrong.push(`${working()} work at once`)
        return
      }
      case 'task.settled': {
        const task = tasks.get(event.task)!
        if (task.status !== undefined) wrong.push(`${event.task} ends twice`)
        task.status = event.status
        if (event.status === 'succeeded' && task.starts === 0) wrong.push(`${event.task} succeeds without a beginning`)
        if (event.status === 'failed' && !isOver) {
          if (task.recruit === undefined || options.recruit?.countFailures === true) failedCount++
          const never = options.tolerance === 100 && options.maxFailures === undefined
          if (
            (!never && failedCount >= maxFailures) ||
            (task.recruit === undefined && byId.get(task.id)?.critical === true)
          )
            mustEnd = true
        }
        return
      }
      case 'topic.published':
        published.add(event.topic)
        return
      case 'plan.aborted':
        if (isOver) wrong.push('given up twice')
        if (!mustEnd) wrong.push(`given up for nothing: ${event.reason}`)
        if (event.reason === 'failures' && (event.failed !== failedCount || event.failed < event.maxFailures))
          wrong.push(`given up at ${event.failed}, ${failedCount} failed`)
        if (event.total !== subtasks.length) wrong.push(`a total of ${event.total}`)
        isOver = true
        return
      case 'activation.settled':
        if (isRoot) {
          ends++
          for (const { id, status, working: by } of tasks.values())
            if (status === undefined || by !== undefined) wrong.push(`${id} is open at the end`)
        }
        for (const task of tasks.values()) if (task.working === activation) task.working = undefined
        return
      default:
        return
    }
  }
  if (mustEnd && !isOver) wrong.push('it must be given up, and was not')
  if (ends !== 1) wrong.push(`${ends} ends`)
  const succeeded = [...tasks.values()].filter(
    ({ recruit, status }) => recruit === undefined && status === 'succeeded',
  ).length
  if (results?.coverage.succeeded !== succeeded || results.coverage.planned !== subtasks.length)
    wrong.push(`coverage ${JSON.stringify(results?.coverage)}, ${succeeded} succeeded`)
  if (results?.partial !== succeeded < subtasks.length) wrong.push(`partial is ${results?.partial}`)
  for (const { task, status } of results?.tasks ?? [])
    if (tasks.get(task)?.status !== status)
      wrong.push(`${task}: ${status} in the results, ${tasks.get(task)?.status} in the journal`)
  if (results?.tasks.map(({ task }) => task).join() !== [...tasks.keys()].join())
    wrong.push('the results have other tasks')
  return wrong
}
