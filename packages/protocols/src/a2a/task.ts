/**
 * A run as a task of A2A: its state, what was said, its artifacts.
 *
 * Owns: what of a run is a message, an artifact, a state. Does not own: reading the run (../protocol-run), what was said
 * (../../journal).
 * Holds: K1: the same events give the same messages and artifacts, with the same ids, whoever reads them and when.
 */
import {
  describeOutcome,
  isObject,
  present,
  rootActivation,
  visibleLine,
  type FilePart,
  type Json,
  type Outcome,
} from '@reeve/core'
import { briefValue, readEdge } from '@reeve/edge'
import { foldPage, isEdge, Story, type Recorded, type SaidItem } from '@reeve/journal'
import { hasEnded, pagesOf, type Run, type RunSummary, type Runtime } from '@reeve/runtime'
import { askedQuestions, type AskedQuestion, type StreamEnd } from '../protocol-run/index.ts'
import { questionParts } from './message.ts'
import type { A2aArtifact, A2aMessage, A2aPart, A2aTask, StreamResponse, TaskState, TaskStatus } from './wire.ts'

/** The member of a run's metadata that has the id of the message that began it. */
export const messageIdKey = 'a2a.messageId'

/** A run as far as its events were taken in. */
export class TaskProjection {
  readonly #place: { readonly taskId: string; readonly contextId: string }
  readonly #story = new Story()
  readonly #history: A2aMessage[] = []
  readonly #artifacts: A2aArtifact[] = []
  #at = 0

  constructor({ run, caller }: Pick<RunSummary, 'run' | 'caller'>) {
    this.#place = { taskId: run, contextId: contextOf({ run, caller }) }
  }

  /** The last position taken in. */
  get position(): number {
    return this.#story.index.position
  }

  /** When the last event was recorded, in milliseconds since 1970. */
  get at(): number {
    return this.#at
  }

  /** Takes an event in; what it adds to a stream. One that was taken in before adds nothing. */
  take(recorded: Recorded): readonly StreamResponse[] {
    if (recorded.position <= this.position) return []
    this.#at = recorded.at
    const items = this.#story.take(recorded)
    const { activation, event, run } = recorded
    if (event.type === 'activation.started' && activation === rootActivation(run)) {
      const id = isObject(event.caller?.metadata) ? event.caller.metadata[messageIdKey] : undefined
      this.#say('ROLE_USER', typeof id === 'string' ? id : `${run}@${recorded.position}`, [inputPart(event.input)])
    }
    const added = items.flatMap((item) => (item.type === 'said' ? this.#said(item) : []))
    if (event.type === 'ask.settled' && event.outcome.status === 'completed')
      this.#say('ROLE_USER', `${activation}@${recorded.position}`, [{ data: answerIn(event.outcome.output) }])
    if (event.type === 'activation.settled' && activation === rootActivation(run))
      added.push(...this.#output(event.outcome))
    return added
  }

  #said({ spoken }: SaidItem): readonly StreamResponse[] {
    // what workers say is their leader's affair; the text of a hook is the output
    if (spoken.type !== 'assistant' || spoken.inner === true) return []
    const { activation, position, at, text, files = [] } = spoken
    const id = `${activation}@${position}`
    const made = files.length === 0 ? [] : this.#artifact(`files@${position}`, 'files', files.map(filePart))
    if (text === '') return made
    const message = this.#say('ROLE_AGENT', id, [{ text, mediaType: 'text/plain' }])
    return [...made, this.update({ state: 'TASK_STATE_WORKING', message, timestamp: timeText(at) })]
  }

  #output(outcome: Outcome): readonly StreamResponse[] {
    const output = outcome.status === 'completed' ? outcome.output : outcome.status === 'bailed' ? outcome.text : null
    return output === null || output === '' ? [] : this.#artifact('output', 'output', [partOf(output)])
  }

  #artifact(artifactId: string, name: string, parts: readonly A2aPart[]): readonly StreamResponse[] {
    const artifact = { artifactId, name, parts }
    this.#artifacts.push(artifact)
    return [{ artifactUpdate: { ...this.#place, artifact, lastChunk: true } }]
  }

  #say(role: A2aMessage['role'], messageId: string, parts: readonly A2aPart[]): A2aMessage {
    const message = { messageId, role, parts, ...this.#place }
    this.#history.push(message)
    return message
  }

  /** The task in this state. `historyLength`: so many of the newest messages; undefined: all. */
  task(status: TaskStatus, historyLength?: number): A2aTask {
    const { taskId: id, contextId } = this.#place
    const history =
      historyLength === undefined
        ? this.#history
        : this.#history.slice(historyLength === 0 ? this.#history.length : -historyLength)
    return {
      id,
      contextId,
      status,
      ...(this.#artifacts.length === 0 ? {} : { artifacts: [...this.#artifacts] }),
      ...(history.length === 0 ? {} : { history: [...history] }),
    }
  }

  /** A change of state, for a stream. */
  update(status: TaskStatus): StreamResponse {
    return { statusUpdate: { ...this.#place, status } }
  }

  /** The state of a run at the end of a stream. `questions`: those that a waiting run asks people. */
  end(end: StreamEnd, questions: readonly AskedQuestion[]): TaskStatus {
    if (end.type === 'ended') return this.ended(end.outcome)
    if (questions.length > 0) return this.asking(questions)
    const { failure, reason = 'an operator must see to it' } = end.waiting
    return {
      state: 'TASK_STATE_WORKING',
      message: this.#note(`The run is stuck: ${failure?.message ?? reason}`),
      timestamp: timeText(this.#at),
    }
  }

  /** Its state while it goes on. */
  working(): TaskStatus {
    return { state: 'TASK_STATE_WORKING', timestamp: timeText(this.#at) }
  }

  /** Its state while it asks people. */
  asking(questions: readonly AskedQuestion[]): TaskStatus {
    const last = Math.max(...questions.map(({ askedAt }) => askedAt))
    const messageId = `${this.#place.taskId}?${questions.map(({ id }) => id).join('+')}`
    const message = { messageId, role: 'ROLE_AGENT', parts: questions.flatMap(questionParts), ...this.#place } as const
    return { state: 'TASK_STATE_INPUT_REQUIRED', message, timestamp: timeText(last) }
  }

  /** Its state once it has ended. */
  ended(outcome: Outcome): TaskStatus {
    const state = endStates[outcome.status]
    const timestamp = timeText(this.#at)
    if (outcome.status === 'completed') return { state, timestamp }
    const isRejected = outcome.status === 'failed' && outcome.failure.class === 'rejected'
    const message = this.#note(describeOutcome(outcome))
    return { state: isRejected ? 'TASK_STATE_REJECTED' : state, message, timestamp }
  }

  #note(text: string): A2aMessage {
    const messageId = `${this.#place.taskId}!${this.position}`
    return {
      messageId,
      role: 'ROLE_AGENT',
      parts: [{ text: visibleLine(text), mediaType: 'text/plain' }],
      ...this.#place,
    }
  }
}

const endStates: Readonly<Record<Outcome['status'], TaskState>> = {
  completed: 'TASK_STATE_COMPLETED',
  bailed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  limited: 'TASK_STATE_FAILED',
  'timed-out': 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
}

/** The conversation of a run; one without a session is a conversation of its own. */
const contextOf = ({ run, caller }: Pick<RunSummary, 'run' | 'caller'>): string => caller.session ?? run

/** The state of a run by its row alone. */
export function stateOf({ status, failure, waitsFor }: Pick<RunSummary, 'status' | 'failure' | 'waitsFor'>): TaskState {
  if (status === 'queued') return 'TASK_STATE_SUBMITTED'
  if (!hasEnded(status))
    return status === 'waiting' && waitsFor !== undefined && waitsFor.oldest.kind !== 'diverged'
      ? 'TASK_STATE_INPUT_REQUIRED'
      : 'TASK_STATE_WORKING'
  return status === 'failed' && failure?.class === 'rejected'
    ? 'TASK_STATE_REJECTED'
    : endStates[status as Outcome['status']]
}

/** When the state of a run began, by its row alone, in milliseconds since 1970. */
export const changedAt = ({ createdAt, endedAt, waitsFor }: RunSummary): number =>
  endedAt ?? waitsFor?.oldest.askedAt ?? createdAt

/** A task by the row of its run: without history and artifacts. */
export const rowTask = (summary: RunSummary): A2aTask => ({
  id: summary.run,
  contextId: contextOf(summary),
  status: { state: stateOf(summary), timestamp: timeText(changedAt(summary)) },
})

/** A run as it is now, with the fold of its events so far. */
export async function taskNow(
  run: Run,
  runtime: Runtime,
): Promise<{ readonly fold: TaskProjection; readonly status: TaskStatus; readonly isOver: boolean }> {
  const summary = await run.summary()
  const fold = new TaskProjection(summary)
  // one read where one page holds it: while more is read the run goes on, and what it does then is for the stream
  const first = await run.journal({ limit: foldPage.events, length: foldPage.length })
  for (const recorded of first) fold.take(recorded)
  const isWhole = first.length < foldPage.events && JSON.stringify(first).length < foldPage.length / 2
  if (!isWhole)
    for await (const page of pagesOf(run, first.at(-1)?.position)) for (const recorded of page) fold.take(recorded)
  if (hasEnded(summary.status)) return { fold, status: fold.ended(await run.outcome()), isOver: true }
  const questions = askedQuestions(await runtime.questions({ run: run.id }), runtime)
  if (questions.length > 0 && summary.status !== 'queued' && summary.status !== 'running')
    return { fold, status: fold.asking(questions), isOver: false }
  const state = stateOf(summary)
  return { fold, status: { ...fold.working(), ...(state === 'TASK_STATE_SUBMITTED' ? { state } : {}) }, isOver: false }
}

export const timeText = (at: number): string => new Date(at).toISOString()

const partOf = (value: Json): A2aPart =>
  typeof value === 'string' ? { text: value, mediaType: 'text/plain' } : { data: value, mediaType: 'application/json' }

/** What a run was asked, without what else crossed to it. */
const inputPart = (input: Json): A2aPart => partOf(isEdge(input) ? briefValue(readEdge(input).work.brief) : input)

/** An answer without what binds it to the question. */
function answerIn(output: Json): Json {
  if (!isObject(output) || !isObject(output['on'])) return { value: output }
  const { on: _on, link: _link, ...said } = output
  return said
}

const filePart = ({ mediaType, filename, ...source }: FilePart): A2aPart => ({
  mediaType,
  ...present({ filename }),
  ...('data' in source ? { raw: source.data } : { url: source.url }),
})
