/** `reeve takeover`, `handback`, `complete` and `finish`: a human goes on by hand. Own: the words, and how the document is told. Whoever drives the run obeys. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from '../../core/index.ts'
import type { HandBack, TakeoverContext, TakeoverStep } from '../../index.ts'
import { argumentsLine, shortly, visible } from '../asking.ts'
import { thisUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { look } from '../store.ts'
import { oneLine } from '../tree.ts'
import { readValue } from './answer.ts'
import { decidedWithin } from './recruit.ts'

/** Who says so, and why. */
export interface ByHandOptions {
  readonly by?: string
  readonly reason?: string
  /** Seconds. */
  readonly wait: number
}

const said = ({ by, reason }: ByHandOptions): { readonly by: string; readonly reason?: string } => ({
  by: by ?? thisUser(),
  ...(reason === undefined ? {} : { reason }),
})

const undecided = (run: string, where: string): string =>
  `Nobody drives the run ${run} now. It obeys as soon as somebody does:\n  reeve work${where}\n  reeve show ${run}${where}`

/** Takes a run over, and tells what there is to go on with. */
export function takeover(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  given: ByHandOptions & { readonly now?: boolean; readonly json?: boolean },
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const { now = false, json = false, wait } = given
    const how = { ...said(given), at: now ? 'now' : 'next' } as const
    const taken = await decidedWithin(wait, interrupted, (signal) => runtime.handle(run).takeOver({ ...how, signal }))
    const where = whereOf(options)
    if (taken === undefined) {
      terminal.line(undecided(run, where))
      return exits.waiting
    }
    if (json) terminal.line(JSON.stringify(taken))
    else for (const line of contextLines(taken, where)) terminal.line(line)
    if (!taken.takenOver) terminal.note(`${taken.owner ?? 'Somebody'} has it already, and keeps it.`)
    return taken.takenOver ? exits.done : exits.failed
  })
}

/** Hands a run back, with an edited plan if there is one. */
export function handback(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  given: ByHandOptions & { readonly plan?: string; readonly team?: string },
): Promise<Exit> {
  const { plan: file, team, wait } = given
  return look(options, cwd, async (runtime) => {
    const plan = file === undefined ? undefined : await readPlan(resolve(cwd, file))
    const how: HandBack = { ...said(given), ...(plan === undefined ? {} : { plan }), ...(team === undefined ? {} : { team }) }
    const done = await decidedWithin(wait, interrupted, async (signal) => {
      await runtime.handle(run).handBack({ ...how, signal })
      return true
    })
    terminal.line(
      done === undefined ? undecided(run, whereOf(options)) : `The run ${run} goes on${plan === undefined ? '' : ' with the edited plan'}.`,
    )
    return done === undefined ? exits.waiting : exits.done
  })
}

async function readPlan(file: string): Promise<NonNullable<HandBack['plan']>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as NonNullable<HandBack['plan']>
  } catch (thrown) {
    throw usage(
      `the plan cannot be read: ${messageOf(thrown)}`,
      'It is JSON: { "add": [ … ], "replace": [ … ], "remove": [ … ], "results": { … } }',
    )
  }
}

/** Finishes one step by hand. */
export function complete(
  { terminal, options, cwd, interrupted }: CommandContext,
  run: string,
  step: string,
  value: string,
  given: ByHandOptions & { readonly text?: boolean },
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const handle = runtime.handle(run)
    const isTask = (await handle.view()).teams.some(({ plan }) => plan.tasks.some(({ task }) => task === step))
    const how = { ...(isTask ? { task: step } : { delegation: step }), output: outputOf(value, given), ...said(given) }
    const done = await decidedWithin(given.wait, interrupted, async (signal) => {
      await handle.complete({ ...how, signal })
      return true
    })
    terminal.line(
      done === undefined ? undecided(run, whereOf(options)) : `${step} is finished by hand. Whoever waits for it goes on with that.`,
    )
    return done === undefined ? exits.waiting : exits.done
  })
}

/** Ends a run that a human has, with this output. */
export function finish(
  { terminal, options, cwd }: CommandContext,
  run: string,
  value: string,
  given: Omit<ByHandOptions, 'wait'> & { readonly text?: boolean },
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    await runtime.handle(run).finish({ output: outputOf(value, given), ...said({ ...given, wait: 0 }) })
    terminal.line(`The run ${run} ends with this output. Nothing that was done is undone.`)
    return exits.done
  })
}

const outputOf = (value: string, { text = false }: { readonly text?: boolean }): ReturnType<typeof readValue> =>
  text ? value : readValue(value)

/** The document for people. */
export function contextLines(context: TakeoverContext, where: string): readonly string[] {
  const { run, agent, owner, reason, currentStep, totalSteps, failureReason, pendingApprovals, unreadMail, results } = context
  const list = (title: string, steps: readonly TakeoverStep[]): string[] =>
    steps.length === 0 ? [] : [`${title}:`, ...steps.map((step) => `  ${stepText(step, results[step.id])}`)]
  return [
    `${run}  human_control  ${agent}${owner === undefined ? '' : `  (${visible(owner)}${reason === undefined ? '' : `: ${visible(oneLine(reason))}`})`}`,
    `step ${currentStep} of ${totalSteps}`,
    ...list('completed', context.completed),
    ...list('in flight', context.inFlight),
    ...list('pending', context.pending),
    ...list('failed', context.failed),
    ...list('skipped', context.skipped),
    ...(failureReason === undefined ? [] : [`failed last: ${visible(oneLine(failureReason))}`]),
    ...pendingApprovals.map(({ id, tool, input }) => `asks: ${tool} with ${argumentsLine(input)}\n  reeve approve ${id}${where}`),
    ...(unreadMail === 0 ? [] : [`${unreadMail} unread message${unreadMail === 1 ? '' : 's'}`]),
    `next: ${suggestion(context)}`,
    `  reeve complete ${run} <step> <json or text>${where}`,
    `  reeve handback ${run}${where}    (or: reeve finish ${run} <json or text>${where})`,
  ]
}

function stepText({ id, worker, description, partial, by, waitsFor, failure, reason }: TakeoverStep, output: unknown): string {
  const about = description === '' || description === id ? '' : ` ${visible(oneLine(description)).slice(0, 60)}`
  const more = [
    by === undefined ? undefined : `by hand, ${visible(by)}`,
    waitsFor === undefined ? undefined : `waits for ${waitsFor.join(', ')}`,
    output === undefined ? undefined : shortly(output),
    partial === undefined ? undefined : `so far: ${shortly(partial)}`,
    failure?.message ?? reason,
  ].flatMap((each) => (each === undefined ? [] : [visible(oneLine(each))]))
  return `${id} (${worker})${about}${more.length === 0 ? '' : `: ${more.join('; ')}`}`
}

function suggestion({ suggestedNextAction: next }: TakeoverContext): string {
  switch (next.type) {
    case 'task':
      return `do "${visible(next.task)}"`
    case 'approval':
      return `decide on ${next.approval} (${next.tool})`
    case 'synthesise':
      return 'put the results together'
  }
}
