/**
 * `reeve takeover`, `handback`, `complete` and `finish`: a human continues a run by hand.
 *
 * Owns: the output, and the takeover context as text. The process that drives the run carries the commands out.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { cut, messageOf, readJson, visible, visibleLine, shellWord, argumentsLine, preview } from '@reeve/core'
import type { HandBack, TakeoverContext, TakeoverStep } from '@reeve/public/oversight'
import { currentUser, whereOf, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { driveCommand, workerCommand, type LocatedRun } from '../next-command.ts'
import { withRuns } from '../store.ts'
import { readValue } from './answer.ts'
import { decidedWithin } from './recruit.ts'
import { reeve } from '../invocation.ts'

/** Who gives the command, and why. */
export interface ByHandOptions {
  readonly by?: string
  readonly reason?: string
  /** Seconds. */
  readonly wait: number
}

const author = ({ by, reason }: ByHandOptions): { readonly by: string; readonly reason?: string } => ({
  by: by ?? currentUser(),
  ...(reason === undefined ? {} : { reason }),
})

const notDriven = async (located: LocatedRun): Promise<string> =>
  `No worker drives the run ${located.run}. The command takes effect when one does:\n  ${await workerCommand(located)}\n  ${reeve} show ${shellWord(located.run)}${whereOf(located.context.options)}`

/** Takes a run over and prints the state to continue from. */
export function takeover(
  context: CommandContext,
  run: string,
  given: ByHandOptions & { readonly now?: boolean; readonly json?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const { now = false, json = false, wait } = given
    const how = { ...author(given), at: now ? 'now' : 'next' } as const
    const taken = await decidedWithin(wait, interrupted, (signal) =>
      runtime.handle(run).control.takeOver({ ...how, signal }),
    )
    const where = whereOf(options)
    if (taken === undefined) {
      // no process reads the command; the journal names an earlier owner
      const { takeover: has } = await runtime.handle(run).view()
      if (has === undefined) terminal.line(await notDriven({ context, runtime, place, run }))
      else
        terminal.note(
          `${keeps(has.by)} No worker drives the run ${run}; hand it back with: ${reeve} handback ${run}${where}`,
        )
      return has === undefined ? exits.waiting : exits.failed
    }
    if (json) terminal.line(JSON.stringify(taken))
    else {
      const pending = new Set((await runtime.questions({ run })).map(({ id }) => id))
      for (const line of contextLines(taken, where, pending)) terminal.line(line)
    }
    if (!taken.takenOver) terminal.note(keeps(taken.owner))
    return taken.takenOver ? exits.done : exits.failed
  })
}

const keeps = (owner: string | undefined): string =>
  `The run is already taken over by ${owner === undefined ? 'someone else' : visible(owner)}.`

/** Hands a run back, optionally with an edited plan. */
export function handback(
  context: CommandContext,
  run: string,
  given: ByHandOptions & { readonly plan?: string; readonly team?: string },
): Promise<Exit> {
  const { plan: file, team, wait } = given
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const plan = file === undefined ? undefined : await readPlan(resolve(cwd, file))
    const how: HandBack = {
      ...author(given),
      ...(plan === undefined ? {} : { plan }),
      ...(team === undefined ? {} : { team }),
    }
    const done = await decidedWithin(wait, interrupted, async (signal) => {
      await runtime.handle(run).control.handBack({ ...how, signal })
      return true
    })
    terminal.line(
      done === undefined
        ? await notDriven({ context, runtime, place, run })
        : `The run ${run} continues${plan === undefined ? '' : ' with the edited plan'}.`,
    )
    return done === undefined ? exits.waiting : exits.done
  })
}

async function readPlan(file: string): Promise<NonNullable<HandBack['plan']>> {
  try {
    const read = readJson(await readFile(file, 'utf8'), { path: 'the plan' })
    if (!read.ok) throw new Error(read.problem)
    return read.value as unknown as NonNullable<HandBack['plan']>
  } catch (thrown) {
    throw usage(
      `cannot read the plan: ${messageOf(thrown)}`,
      'Write JSON: { "add": [ … ], "replace": [ … ], "remove": [ … ], "results": { … } }',
    )
  }
}

/** Finishes one step by hand. */
export function complete(
  context: CommandContext,
  run: string,
  step: string,
  value: string,
  given: ByHandOptions & { readonly text?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const handle = runtime.handle(run)
    const isTask = (await handle.view()).teams.some(({ plan }) => plan.tasks.some(({ task }) => task === step))
    const how = {
      ...(isTask ? { task: step } : { delegation: step }),
      output: outputOf(value, given),
      ...author(given),
    }
    const done = await decidedWithin(given.wait, interrupted, async (signal) => {
      await handle.control.complete({ ...how, signal })
      return true
    })
    terminal.line(
      done === undefined
        ? await notDriven({ context, runtime, place, run })
        : `${visible(step)} is completed by hand. Its dependents continue with that value.`,
    )
    return done === undefined ? exits.waiting : exits.done
  })
}

/** Ends a run that was taken over, with this output. */
export function finish(
  context: CommandContext,
  run: string,
  value: string,
  given: ByHandOptions & { readonly text?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime, place) => {
    const handle = runtime.handle(run)
    await handle.control.finish({ output: outputOf(value, given), ...author(given) })
    const done = await decidedWithin(given.wait, interrupted, async (signal) => {
      for await (const { event } of handle.events({ signal })) void event
      return signal.aborted ? undefined : true
    })
    terminal.line(
      done === undefined
        ? `The run ${run} ends with this output when a worker drives it:\n  ${await driveCommand({ context, runtime, place, run })}`
        : `The run ${run} has ended with this output. Completed effects stay.`,
    )
    return done === undefined ? exits.waiting : exits.done
  })
}

const outputOf = (value: string, { text = false }: { readonly text?: boolean }): ReturnType<typeof readValue> =>
  text ? value : readValue(value)

/** The takeover context as text. `pending`: ids of the questions without an answer. */
function contextLines(context: TakeoverContext, where: string, pending: ReadonlySet<string>): readonly string[] {
  const { run, agent, owner, reason, currentStep, totalSteps, failureReason, pendingApprovals, unreadMail, results } =
    context
  const list = (title: string, steps: readonly TakeoverStep[]): string[] =>
    steps.length === 0 ? [] : [`${title}:`, ...steps.map((step) => `  ${stepText(step, results[step.id])}`)]
  return [
    `${run}  human_control  ${agent}${owner === undefined ? '' : `  (${visible(owner)}${reason === undefined ? '' : `: ${visibleLine(reason)}`})`}`,
    `step ${currentStep} of ${totalSteps}`,
    ...list('completed', context.completed),
    ...list('in flight', context.inFlight),
    ...list('pending', context.pending),
    ...list('failed', context.failed),
    ...list('skipped', context.skipped),
    ...(failureReason === undefined ? [] : [`failed last: ${visibleLine(failureReason)}`]),
    ...pendingApprovals.map(({ id, tool, input }) =>
      pending.has(id)
        ? `asks: ${visible(tool)} with ${argumentsLine(input)}\n  ${reeve} approve ${shellWord(id)}${where}`
        : `decided, not yet read by the run: ${visible(tool)} with ${argumentsLine(input)}`,
    ),
    ...(unreadMail === 0 ? [] : [`${unreadMail} unread message${unreadMail === 1 ? '' : 's'}`]),
    `next: ${suggestion(context)}`,
    `  ${reeve} complete ${run} <step> <json or text>${where}`,
    `  ${reeve} handback ${run}${where}    (or: ${reeve} finish ${run} <json or text>${where})`,
  ]
}

function stepText(
  { id, worker, description, partial, by, waitsFor, failure, reason }: TakeoverStep,
  output: unknown,
): string {
  const about = description === '' || description === id ? '' : ` ${cut(visibleLine(description), 60)}`
  const more = [
    by === undefined ? undefined : `by hand, ${visible(by)}`,
    waitsFor === undefined ? undefined : `waits for ${waitsFor.join(', ')}`,
    output === undefined ? undefined : preview(output),
    partial === undefined ? undefined : `so far: ${preview(partial)}`,
    failure?.message ?? reason,
  ].flatMap((each) => (each === undefined ? [] : [visibleLine(each)]))
  return visible(`${id} (${worker})${about}${more.length === 0 ? '' : `: ${more.join('; ')}`}`)
}

function suggestion({ suggestedNextAction: next }: TakeoverContext): string {
  switch (next.type) {
    case 'task':
      return `do "${visible(next.task)}"`
    case 'approval':
      return `decide on ${next.approval} (${visible(next.tool)})`
    case 'wait':
      return `wait for ${next.for.map((each) => `"${visible(each)}"`).join(', ')}`
    case 'synthesise':
      return 'combine the results'
  }
}
