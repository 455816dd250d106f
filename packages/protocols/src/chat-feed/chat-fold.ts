/**
 * What is shown of a run's story to people who chat with it.
 *
 * Owns: blocks of text, lines of workers, ids of calls. Does not own: what happens, who speaks, which live text is
 * withdrawn (the story of the journal), reading the feed (chat-feed.ts).
 * Holds: K1: recorded events alone show the same as events with live parts between, up to what was withdrawn on the
 * way. Ids of calls are derived from the journal: every reader, in every process, has the same. A text that was shown
 * live and not recorded is withdrawn. K9: missed parts are made up for by the event that ends their step.
 */
import {
  beginning,
  digest,
  fileLabel,
  isObject,
  isToolAgent,
  own,
  present,
  runOf,
  withLines,
  type ActivationId,
  type FilePart,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import {
  blocksOf,
  joinedBlocks,
  Story,
  type IndexedActivation,
  type JournalEvent,
  type LiveAnswer,
  type HeardBlock,
  type Recorded,
  type SaidItem,
  type Spoken,
  type StoryItem,
} from '@reeve/journal'
import { clientCallIn, type Question, type StreamItem } from '@reeve/runtime'
import { applyChange, type ChatItem, type ChatChange, type ChatWorker } from './chat-item.ts'

/** Characters of a worker's text that are shown. */
const workerTextLength = 20_000

interface WorkerLine {
  readonly worker: Omit<ChatWorker, 'status' | 'text'>
  status: string
  text: string
  /** That the live text is of. */
  answer: LiveAnswer | undefined
  /** The length of the text when it was shown last. */
  shownLength: number
}

type Piece = Extract<StoryItem, { readonly type: 'piece' }>
type Requested = Extract<JournalEvent, { readonly type: 'approval.requested' }>
type Resolved = Extract<JournalEvent, { readonly type: 'approval.resolved' }>

/** Whether a decision lets the action run. Others are followed by another request, or none was made. */
const resolutions: Readonly<Partial<Record<Resolved['resolution'], boolean>>> = {
  approved: true,
  edited: true,
  'timed-out-approved': true,
  rejected: false,
  retry: false,
  'timed-out-rejected': false,
  cancelled: false,
}

export class ChatFold {
  /** Of the last event. */
  position = 0
  readonly #story = new Story()
  readonly #workers = new Map<ActivationId, WorkerLine>()
  /** What is shown live, by the blocks that were heard. */
  readonly #shown = new Map<HeardBlock, string>()
  /** Shown calls by their activation and the model's id. */
  readonly #calls = new Map<string, string>()
  /** Shown calls that have no result yet, and the activation each belongs to. */
  readonly #open = new Map<string, ActivationId>()
  /** Calls that are shown when their result is there. */
  readonly #unshown = new Map<string, string>()
  readonly #approvals = new Map<string, { readonly call: string; readonly asked: Requested }>()
  readonly #questions = new Set<string>()
  /** Shown calls that the client runs, by their questions. */
  readonly #clientCalls = new Map<string, string>()
  #blocks = 0
  #changes: ChatChange[] = []

  /** Takes the next item of the feed in, and returns what changed. */
  take(item: StreamItem): readonly ChatChange[] {
    this.#changes = []
    const isPart = item.type === 'part'
    const { activation } = isPart ? item.part : item.event
    const items = isPart ? this.#story.hear(item.part) : this.#story.take(item.event)
    // pieces are frequent: most are of who speaks for the run
    if ((isPart && this.#speaks(activation)) || this.#isOfRun(activation)) {
      if (!isPart) this.position = item.event.position
      for (const each of items) this.#happens(each)
      return this.#changes
    }
    for (const each of items) this.#happensApart(each)
    return this.#changes.map(nowhere)
  }

  #isOfRun(activation: ActivationId): boolean {
    const { run } = this.#story.index
    return run === undefined || runOf(activation) === run
  }

  /** Whether this approval or question is shown, or was. */
  knows(id: string): boolean {
    return this.#approvals.has(id) || this.#questions.has(id) || this.#clientCalls.has(id)
  }

  /** Shows a question of a child run, whose events are in another feed: it has no place in this one. */
  takeQuestion({ id, kind, activation, body }: Question): readonly ChatChange[] {
    this.#changes = []
    if (kind === 'approval') this.#requested(activation, body as Requested)
    else if (kind === 'interrupt' && isObject(body)) this.#askedFor(activation, id, body)
    return this.#changes.map(nowhere)
  }

  /** Shows what the client has said of a call of a child run. */
  takeAnswer(question: string, answer: Json): readonly ChatChange[] {
    this.#changes = []
    this.#clientAnswered(question, answer)
    return this.#changes.map(nowhere)
  }

  /** Shows the decision on an approval of a child run. */
  takeDecision(approval: string, approved: boolean): readonly ChatChange[] {
    this.#changes = []
    this.#decided(approval, approved)
    const call = this.#approvals.get(approval)?.call
    if (approved && call !== undefined) this.#result(call, { approved: true })
    return this.#changes.map(nowhere)
  }

  #show(item: ChatItem): void {
    this.#changes.push({ type: 'show', position: this.position, item })
  }

  #happens(item: StoryItem): void {
    switch (item.type) {
      case 'began':
        return this.#began(item.agent)
      case 'turn':
        if (this.#speaks(item.agent.id)) this.#show({ type: 'turn' })
        return
      case 'piece':
        return this.#speaks(item.answer.activation) ? this.#piece(item) : this.#workerPiece(item)
      case 'withdrawn':
        return this.#gone(item.answer)
      case 'said':
        if (this.#speaks(item.spoken.activation)) this.#said(item)
        else if (item.spoken.type === 'assistant') this.#workerSaid(item.spoken.activation, item.text)
        return
      case 'called':
        if (this.#speaks(item.agent.id)) this.#called(item.agent, item.event)
        return
      case 'refused':
        if (this.#speaks(item.agent.id)) this.#unshown.set(this.#nameOf(item.agent.id, item.callId), item.tool)
        return
      case 'result':
        return this.#toolResult(item.spoken)
      case 'asked':
        this.#waiting(item.agent.id, 'waiting')
        if (item.event.type === 'approval.requested') return this.#requested(item.agent.id, item.event)
        return this.#askedFor(item.agent.id, item.event.id, item.event as unknown as JsonObject)
      case 'decided':
        return this.#resolved(item.event)
      case 'closed':
        if (item.event.type === 'interrupt.raised') {
          this.#answeredQuestion(item.event.id)
          if (item.answer !== undefined) this.#clientAnswered(item.event.id, item.answer)
        }
        this.#waiting(item.agent.id, 'running')
        if (item.event.type === 'approval.requested' && item.end !== undefined) this.#decided(item.event.id, false)
        return
      case 'stopped': {
        const call = this.#calls.get(this.#nameOf(item.agent.id, item.event.callId ?? ''))
        if (call !== undefined) this.#stopped(call, item.end)
        return
      }
      case 'ended':
        if (this.#isOfRun(item.agent.id))
          for (const [call, owner] of this.#open) if (owner === item.agent.id) this.#stopped(call, item.outcome)
        return this.#status(this.#workers.get(item.agent.id), item.outcome.status)
      default:
    }
  }

  /**
   * Of a child run the lines of workers are shown, later than everything in the feed of the run; what it asks is shown
   * where its leader waits.
   */
  #happensApart(item: StoryItem): void {
    if (item.type === 'asked') this.#waiting(item.agent.id, 'waiting')
    else if (item.type === 'closed') this.#waiting(item.agent.id, 'running')
    else if (item.type === 'began' || item.type === 'piece' || item.type === 'said' || item.type === 'ended')
      this.#happens(item)
  }

  #called(agent: IndexedActivation, event: Extract<StoryItem, { readonly type: 'called' }>['event']): void {
    const { callId } = event
    if (callId === undefined) return
    if (event.type === 'tool.called')
      this.#callNamed(
        this.#nameOf(agent.id, callId),
        agent.id,
        event.tool,
        event.input ?? this.#argumentsOf(agent.id, callId),
        agent.path,
      )
    else if (isToolAgent(event.agent))
      this.#unshown.set(this.#nameOf(agent.id, callId), event.agent.slice(event.agent.indexOf('.') + 1))
  }

  #toolResult({
    activation,
    callId,
    content,
    isError,
    files = [],
    path,
  }: Extract<Spoken, { readonly type: 'tool' }>): void {
    if (callId === undefined) return
    const name = this.#nameOf(activation, callId)
    const tool = this.#unshown.get(name)
    if (!this.#calls.has(name) && tool !== undefined)
      this.#callNamed(name, activation, tool, this.#argumentsOf(activation, callId), path)
    this.#unshown.delete(name)
    const call = this.#calls.get(name) ?? this.#openCallOf(activation, callId)
    if (call === undefined) return
    // in the conversation itself they are shown; inside of it they are named
    const isShown = this.#speaks(activation)
    const named = isShown ? [] : files.map((file) => fileLabel(file))
    this.#result(call, withLines(content, named), isError)
    if (isShown) this.#files(files)
  }

  /** A call of an earlier turn that went on in the background. */
  #openCallOf(activation: ActivationId, callId: string): string | undefined {
    for (const [name, call] of this.#calls)
      if (this.#open.get(call) === activation && name.endsWith(` ${callId}`)) return call
    return undefined
  }

  /** A text is recorded: what was not shown live is shown now. */
  #said({ spoken, text, heard }: SaidItem): void {
    const answer = this.#story.answerOf(spoken.activation)?.answer
    const wanted = answer !== undefined && answer['text'] === text ? blocksOf(answer, text) : blocksOf(null, text)
    const seen = joinedBlocks(heard?.blocks ?? [])
    const isBeginning = seen.every(({ kind, text: begun }, i) => {
      const whole = wanted[i]
      return whole?.kind === kind && (i === seen.length - 1 ? whole.text.startsWith(begun) : whole.text === begun)
    })
    if (!isBeginning) this.#gone(heard!)
    const open = isBeginning ? heard?.blocks.at(-1) : undefined
    const shown = open === undefined ? 0 : seen.length
    if (open !== undefined) {
      const block = this.#shown.get(open)!
      const rest = wanted[shown - 1]!.text.slice(seen.at(-1)!.text.length)
      if (rest !== '') this.#show({ type: open.kind, block, text: rest })
      this.#show({ type: 'block-end', block })
    }
    for (const block of heard?.blocks ?? []) this.#shown.delete(block)
    for (const { kind, text: whole } of wanted.slice(shown)) {
      const block = this.#newBlock()
      this.#show({ type: kind, block, text: whole })
      this.#show({ type: 'block-end', block })
    }
    if (spoken.type !== 'assistant') return
    this.#ran(spoken)
    this.#files(spoken.files ?? [])
  }

  #files(files: readonly FilePart[]): void {
    for (const file of files)
      this.#show({
        type: 'file',
        mediaType: file.mediaType,
        url: 'url' in file ? file.url : `data:${file.mediaType};base64,${file.data}`,
      })
  }

  /** What the provider did for an answer, and what it took it from. */
  #ran({ activation, position, path, ran = [], sources = [] }: Extract<Spoken, { readonly type: 'assistant' }>): void {
    ran.forEach(({ tool, input, isError, summary }, i) => {
      const call = `ran_${digest(`${activation} ${position} ${i}`).slice(0, 20)}`
      this.#show({ type: 'call', call, tool, input, path })
      const failed = isError === true ? { isError } : undefined
      this.#show({ type: 'result', call, output: summary ?? null, ...failed })
    })
    for (const { url, title } of sources)
      if (url !== undefined) {
        const source = `source_${digest(`${activation} ${position} ${url}`).slice(0, 20)}`
        this.#show({ type: 'source', source, url, ...present({ title }) })
      }
  }

  #newBlock(): string {
    return `b${this.#blocks++}`
  }

  #piece({ answer: { blocks }, block, text }: Piece): void {
    const known = this.#shown.get(block)
    const last = blocks.at(-2)
    if (known === undefined && last !== undefined) this.#show({ type: 'block-end', block: this.#shown.get(last)! })
    const id = known ?? this.#newBlock()
    this.#shown.set(block, id)
    this.#show({ type: block.kind, block: id, text })
  }

  /** What was shown live of an answer was never said. */
  #gone({ blocks }: LiveAnswer): void {
    const gone = blocks.flatMap((block) => this.#shown.get(block) ?? [])
    for (const block of blocks) this.#shown.delete(block)
    if (gone.length > 0) this.#changes.push({ type: 'withdraw', position: this.position, blocks: gone })
  }

  #speaks(activation: ActivationId): boolean {
    return this.#story.holdsControl(activation)
  }

  /** The model's id of a call is its own within one answer only. */
  #nameOf(activation: ActivationId, callId: string): string {
    const turn = this.#isOfRun(activation) ? (this.#story.answerOf(activation)?.turn ?? '') : ''
    return `${activation} ${turn} ${callId}`
  }

  #argumentsOf(activation: ActivationId, callId: string): Json {
    const calls = this.#story.answerOf(activation)?.answer['calls']
    const call = (Array.isArray(calls) ? (calls as readonly Json[]) : []).find(
      (each) => isObject(each) && each['id'] === callId,
    )
    return isObject(call) ? (call['input'] ?? null) : null
  }

  #callNamed(name: string, activation: ActivationId, tool: string, input: Json, path: readonly string[]): void {
    const call = this.#calls.get(name) ?? `call_${digest(name).slice(0, 20)}`
    const isNew = !this.#calls.has(name)
    this.#calls.set(name, call)
    if (isNew) this.#open.set(call, activation)
    if (isNew) this.#show({ type: 'call', call, tool, input, path })
  }

  #stopped(call: string, end: Outcome): void {
    this.#result(call, `stopped: its agent ended as ${end.status}`, true)
  }

  #result(call: string, output: Json, isError?: true): void {
    if (!this.#open.delete(call)) return
    this.#show({ type: 'result', call, output, ...(isError === undefined ? undefined : { isError }) })
  }

  #requested(activation: ActivationId, asked: Requested): void {
    const { id, callId, tool, input, path, reason } = asked
    const name = callId === undefined || asked.kind !== undefined ? id : this.#nameOf(activation, callId)
    const known = this.#calls.get(name)
    const call = known ?? (name === id ? id : `call_${digest(name).slice(0, 20)}`)
    this.#calls.set(name, call)
    this.#open.set(call, activation)
    this.#unshown.delete(name)
    this.#approvals.set(id, { call, asked })
    // also where it is known: what is asked for may have been edited since
    this.#show({ type: 'call', call, tool, input, path })
    this.#show({ type: 'approval', approval: id, call, reason })
  }

  #resolved({ id, resolution, comment }: Resolved): void {
    const approved = resolutions[resolution]
    const known = this.#approvals.get(id)
    if (approved === undefined || known === undefined) return
    this.#decided(id, approved, comment)
    const isCall = known.asked.callId !== undefined && known.asked.kind === undefined
    if (approved && !isCall) this.#result(known.call, { approved: true })
  }

  #decided(approval: string, approved: boolean, comment?: string): void {
    const call = this.#approvals.get(approval)?.call
    if (call === undefined || !this.#open.has(call)) return
    this.#show({ type: 'decided', approval, call, approved, ...(comment === undefined ? undefined : { comment }) })
    if (approved) return
    this.#open.delete(call)
    this.#show({ type: 'denied', call })
  }

  /** A question to people, or to the client that is to run a tool. */
  #askedFor(activation: ActivationId, id: string, body: JsonObject): void {
    const asked = clientCallIn(body)
    if (asked === undefined) return this.#asked(id, body)
    const { tool, callId, input } = asked
    const { path } = body
    const name = this.#nameOf(activation, callId)
    const call = this.#calls.get(name) ?? `call_${digest(name).slice(0, 20)}`
    this.#calls.set(name, call)
    this.#open.set(call, activation)
    this.#unshown.delete(name)
    this.#clientCalls.set(id, call)
    const agents = Array.isArray(path) ? (path as readonly string[]) : []
    this.#show({ type: 'call', call, tool, input, path: agents, question: id })
  }

  /** What the client has said is shown at once: the model may be told later. */
  #clientAnswered(question: string, answer: Json): void {
    const call = this.#clientCalls.get(question)
    if (call === undefined || !isObject(answer)) return
    const error = own(answer, 'error')
    if (error === undefined) this.#result(call, own(answer, 'output') ?? null)
    else this.#result(call, error, true)
  }

  #asked(question: string, body: JsonObject): void {
    if (this.#questions.has(question)) return
    this.#questions.add(question)
    const { question: asks = null, path, schema } = body
    this.#show({
      type: 'question',
      question,
      asks,
      path: Array.isArray(path) ? (path as readonly string[]) : [],
      ...(isObject(schema) ? { schema } : undefined),
    })
  }

  #answeredQuestion(question: string): void {
    if (this.#questions.has(question)) this.#show({ type: 'answered', question })
  }

  #began({ id, agent, path, begunBy, isNotice }: IndexedActivation): void {
    if (this.#speaks(id) || this.#workers.has(id) || isNotice || isToolAgent(agent)) return
    if (begunBy?.purpose !== undefined) return
    const line = { worker: { id, agent, path }, status: 'running', text: '', answer: undefined, shownLength: 0 }
    this.#workers.set(id, line)
    this.#line(line)
  }

  #line(line: WorkerLine): void {
    line.shownLength = line.text.length
    const { worker, status, text } = line
    this.#show({ type: 'worker', worker: { ...worker, status, text: beginning(text, workerTextLength) } })
  }

  #status(line: WorkerLine | undefined, status: string): void {
    if (line === undefined || line.status === status) return
    line.status = status
    this.#line(line)
  }

  /** A worker, or the one above a tool that asks, waits for a person. */
  #waiting(activation: ActivationId, status: 'waiting' | 'running'): void {
    const { activations } = this.#story.index
    for (let at = activations.get(activation); at !== undefined; at = at.parent && activations.get(at.parent)) {
      const line = this.#workers.get(at.id)
      if (line !== undefined) return this.#status(line, status)
    }
  }

  #workerSaid(activation: ActivationId, text: string): void {
    const line = this.#workers.get(activation)
    if (line === undefined || text === '') return
    const isShown = line.text === text && line.shownLength === text.length
    line.text = text
    line.answer = undefined
    if (!isShown) this.#line(line)
  }

  /** Live text of a worker: its line is sent again when the text has grown by a tenth, and at least by 48 characters. */
  #workerPiece({ answer, block, text }: Piece): void {
    const line = this.#workers.get(answer.activation)
    if (line === undefined || block.kind !== 'text') return
    if (line.answer !== answer) {
      line.answer = answer
      line.text = ''
      line.shownLength = 0
    }
    line.text += text
    const grown = line.text.length - line.shownLength
    const isFirst = line.shownLength === 0
    if (line.shownLength < workerTextLength && (isFirst || grown >= Math.max(48, line.shownLength / 10)))
      this.#line(line)
  }
}

/** What is shown of the events of a run, without live parts. */
export async function recordedChanges(pages: AsyncIterable<readonly Recorded[]>): Promise<readonly ChatChange[]> {
  const fold = new ChatFold()
  const all: ChatChange[] = []
  for await (const page of pages)
    for (const event of page) for (const change of fold.take({ type: 'event', event })) applyChange(all, change)
  return all
}

/** Later than everything that is in the feed. */
const nowhere = (change: ChatChange): ChatChange => ({ ...change, position: Number.MAX_SAFE_INTEGER })
