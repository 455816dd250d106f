/**
 * The fold from a run's feed to what is shown of it.
 *
 * Owns: which agents speak for the run and which are workers, live text before it is recorded, ids of calls. Does not
 * own: which events are messages (the transcript of the journal), reading the feed (chat-feed.ts).
 * Holds: K1: recorded events alone show the same as events with live parts between, up to what was withdrawn on the
 * way. Ids of calls are derived from the journal: every reader, in every process, has the same. A text that was shown
 * live and not recorded is withdrawn. K9: missed parts are made up for by the event that ends their step.
 */
import {
  beginning,
  digest,
  isObject,
  isToolAgent,
  runOf,
  type ActivationId,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'
import {
  isNotice,
  newTranscriptFold,
  transcribeChange,
  type IndexedActivation,
  type JournalEvent,
  type Recorded,
  type Spoken,
} from '@reeve/journal'
import type { Question, RunPart, StreamItem } from '@reeve/runtime'
import { applyChange, type ChatItem, type ChatChange, type ChatWorker } from './chat-item.ts'

/** Characters of a worker's text that are shown. */
const workerTextLength = 20_000

type Kind = 'text' | 'reasoning'

interface Block {
  readonly id: string
  readonly kind: Kind
  /** Of the model's block, to tell two of one kind apart. */
  readonly key: string
  text: string
}

/** What was shown live of an answer that is not recorded yet. */
interface LiveAnswer {
  readonly address: string
  readonly epoch: number
  readonly attempt: number
  readonly blocks: Block[]
  /** A piece was missed: the rest comes once it is recorded. */
  isCut: boolean
}

interface WorkerLine {
  readonly worker: Omit<ChatWorker, 'status' | 'text'>
  status: string
  text: string
  /** The attempt that the live text is of. */
  attempt: string
  /** The length of the text when it was shown last. */
  shownLength: number
}

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
  readonly #transcript = newTranscriptFold()
  /** Whether an activation speaks for the run: its root, and agents that control was handed to from there. */
  readonly #holds = new Map<ActivationId, boolean>()
  readonly #workers = new Map<ActivationId, WorkerLine>()
  readonly #live = new Map<ActivationId, LiveAnswer>()
  /** The last answer of each activation, as its step recorded it, and the turn it belongs to. */
  readonly #answers = new Map<ActivationId, { readonly turn: string; readonly answer: JsonObject }>()
  /** The last text of each activation. */
  readonly #last = new Map<ActivationId, string>()
  /** Shown calls by their activation and the model's id. */
  readonly #calls = new Map<string, string>()
  /** Shown calls that have no result yet, and the activation each belongs to. */
  readonly #open = new Map<string, ActivationId>()
  /** Calls that are shown when their result is there. */
  readonly #unshown = new Map<string, string>()
  readonly #approvals = new Map<string, { readonly call: string; readonly asked: Requested }>()
  readonly #questions = new Set<string>()
  #blocks = 0
  #changes: ChatChange[] = []

  /** Takes the next item of the feed in, and returns what changed. */
  take(item: StreamItem): readonly ChatChange[] {
    this.#changes = []
    if (item.type === 'part') {
      this.#part(item.part)
      return this.#isOfRun(item.part.activation) ? this.#changes : this.#changes.map(nowhere)
    }
    if (this.#isOfRun(item.event.activation)) {
      this.#event(item.event)
      return this.#changes
    }
    this.#childEvent(item.event)
    return this.#changes.map(nowhere)
  }

  /**
   * Of a child run the lines of workers are shown, later than everything in the feed of the run; what it asks is shown
   * where its leader waits.
   */
  #isOfRun(activation: ActivationId): boolean {
    const { run } = this.#transcript.index
    return run === undefined || runOf(activation) === run
  }

  /** Whether this approval or question is shown, or was. */
  knows(id: string): boolean {
    return this.#approvals.has(id) || this.#questions.has(id)
  }

  /** Shows a question of a child run, whose events are in another feed: it has no place in this one. */
  takeQuestion({ id, kind, activation, body }: Question): readonly ChatChange[] {
    this.#changes = []
    if (kind === 'approval') this.#requested(activation, body as Requested)
    else if (kind === 'interrupt' && isObject(body)) this.#asked(id, body)
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

  // ---- events

  #event(recorded: Recorded): void {
    const change = this.#transcript.index.take(recorded)
    if (change === undefined) return
    this.position = recorded.position
    const { event } = recorded
    const { here } = change
    if (here !== undefined) this.#before(here, event)
    for (const spoken of transcribeChange(this.#transcript, recorded, change)) this.#spoken(spoken)
    if (here === undefined) return
    // what was held back until the next turn was said before it
    if (event.type === 'model.requested' && event.purpose === undefined && this.#speaks(here.id))
      this.#show({ type: 'turn' })
    for (const { event: closed } of change.closed) this.#closed(here, closed, event)
    if (event.type === 'activation.settled') this.#ended(here, event.outcome.status)
  }

  #childEvent(recorded: Recorded): void {
    const change = this.#transcript.index.take(recorded)
    const here = change?.here
    if (change === undefined || here === undefined) return
    const { event } = recorded
    if (event.type === 'activation.started') this.#begun(here)
    else if (event.type === 'worker.started' || event.type === 'worker.settled') this.#before(here, event)
    else if (event.type === 'approval.requested' || event.type === 'interrupt.raised') this.#waiting(here.id, 'waiting')
    for (const spoken of transcribeChange(this.#transcript, recorded, change))
      if (spoken.type === 'assistant') this.#workerSaid(spoken.activation, spoken.text)
    if (change.closed.some(({ event: { type } }) => type === 'approval.requested' || type === 'interrupt.raised'))
      this.#waiting(here.id, 'running')
    const line = this.#workers.get(here.id)
    if (event.type === 'activation.settled' && line !== undefined) this.#status(line, event.outcome.status)
  }

  #before(here: IndexedActivation, event: JournalEvent): void {
    switch (event.type) {
      case 'activation.started': {
        const above = here.parent === undefined ? undefined : this.#holds.get(here.parent)
        this.#holds.set(here.id, here.parent === undefined || (here.isHandedControl && above === true))
        return this.#begun(here)
      }
      case 'worker.started': {
        if (event.callId !== undefined && isToolAgent(event.agent) && this.#speaks(here.id))
          this.#unshown.set(this.#nameOf(here.id, event.callId), event.agent.slice(event.agent.indexOf('.') + 1))
        // one that is placed apart has its events in another run
        for (const each of this.#transcript.index.activations.values()) if (each.isOutline) this.#begun(each)
        return
      }
      case 'worker.settled':
        if (event.apart === true)
          for (const [id, line] of this.#workers)
            if (id.startsWith(`${here.id}>>${event.address}`)) this.#status(line, event.outcome.status)
        return
      case 'step.settled':
        if (event.outcome.status === 'completed') this.#answered(here.id, event.address, event.outcome.output)
        else this.#withdraw(here.id, event.address)
        return
      case 'tool.called':
        if (event.callId !== undefined && this.#speaks(here.id))
          this.#call(here, event.callId, event.tool, event.input ?? this.#argumentsOf(here.id, event.callId))
        return
      case 'tool.refused':
        if (event.callId !== undefined && this.#speaks(here.id))
          this.#unshown.set(this.#nameOf(here.id, event.callId), event.tool)
        return
      case 'approval.requested':
        this.#waiting(here.id, 'waiting')
        return this.#requested(here.id, event)
      case 'approval.resolved':
        return this.#resolved(event)
      case 'interrupt.raised':
        this.#waiting(here.id, 'waiting')
        return this.#asked(event.id, event as unknown as JsonObject)
      default:
    }
  }

  /** An operation that is not open any more. */
  #closed(here: IndexedActivation, closed: JournalEvent, by: JournalEvent): void {
    if (closed.type === 'interrupt.raised') this.#answeredQuestion(closed.id)
    if (closed.type === 'interrupt.raised' || closed.type === 'approval.requested') this.#waiting(here.id, 'running')
    if (by.type !== 'activation.settled') return
    if (closed.type === 'approval.requested') this.#decided(closed.id, false)
    else if (closed.type === 'tool.called' && closed.callId !== undefined) {
      const call = this.#calls.get(this.#nameOf(here.id, closed.callId))
      if (call !== undefined) this.#result(call, `stopped: its agent ended as ${by.outcome.status}`, true)
    }
  }

  #ended({ id }: IndexedActivation, status: string): void {
    // text that a middleware has replaced was never said
    this.#gone(this.#live.get(id)?.blocks ?? [])
    this.#live.delete(id)
    for (const [call, owner] of this.#open)
      if (owner === id) this.#result(call, `stopped: its agent ended as ${status}`, true)
    const line = this.#workers.get(id)
    if (line !== undefined) this.#status(line, status)
  }

  // ---- what is said

  #spoken(spoken: Spoken): void {
    const { activation } = spoken
    const speaks = this.#speaks(activation)
    if (spoken.type === 'assistant') {
      if (speaks) this.#said(activation, spoken.text, spoken.files)
      else this.#workerSaid(activation, spoken.text)
    } else if (spoken.type === 'ended' && spoken.outcome.status === 'bailed') {
      const { text } = spoken.outcome
      if (speaks && text !== this.#last.get(activation)) this.#said(activation, text)
    } else if (spoken.type === 'tool' && spoken.callId !== undefined) this.#toolResult(spoken)
  }

  #toolResult({ activation, callId, content, isError, path }: Extract<Spoken, { readonly type: 'tool' }>): void {
    const name = this.#nameOf(activation, callId!)
    const tool = this.#unshown.get(name)
    if (!this.#calls.has(name) && tool !== undefined)
      this.#callNamed(name, activation, tool, this.#argumentsOf(activation, callId!), path)
    this.#unshown.delete(name)
    const call = this.#calls.get(name) ?? this.#openCallOf(activation, callId!)
    if (call !== undefined) this.#result(call, content, isError)
  }

  /** A call of an earlier turn that went on in the background. */
  #openCallOf(activation: ActivationId, callId: string): string | undefined {
    for (const [name, call] of this.#calls)
      if (this.#open.get(call) === activation && name.endsWith(` ${callId}`)) return call
    return undefined
  }

  /** A text is recorded: what was not shown live is shown now. */
  #said(activation: ActivationId, text: string, files: readonly FilePart[] = []): void {
    const answer = this.#answers.get(activation)?.answer
    const live = this.#live.get(activation)
    this.#live.delete(activation)
    this.#last.set(activation, text)
    const wanted = answer !== undefined && answer['text'] === text ? blocksOf(answer) : plainBlocks(text)
    const seen = joinedBlocks(live?.blocks ?? [])
    const isBeginning = seen.every(({ kind, text: begun }, i) => {
      const whole = wanted[i]
      return whole?.kind === kind && (i === seen.length - 1 ? whole.text.startsWith(begun) : whole.text === begun)
    })
    if (!isBeginning) this.#gone(live!.blocks)
    const open = isBeginning ? live?.blocks.at(-1) : undefined
    const shown = open === undefined ? 0 : seen.length
    if (open !== undefined) {
      const rest = wanted[shown - 1]!.text.slice(seen.at(-1)!.text.length)
      if (rest !== '') this.#show({ type: open.kind, block: open.id, text: rest })
      this.#show({ type: 'block-end', block: open.id })
    }
    for (const { kind, text: whole } of wanted.slice(shown)) {
      const block = this.#newBlock()
      this.#show({ type: kind, block, text: whole })
      this.#show({ type: 'block-end', block })
    }
    for (const file of files)
      this.#show({
        type: 'file',
        mediaType: file.mediaType,
        url: 'url' in file ? file.url : `data:${file.mediaType};base64,${file.data}`,
      })
  }

  #answered(activation: ActivationId, address: string, output: Json): void {
    if (!isObject(output) || typeof output['text'] !== 'string' || !Array.isArray(output['calls'])) return
    this.#answers.set(activation, { turn: address.slice(0, address.lastIndexOf('/') + 1), answer: output })
  }

  #newBlock(): string {
    return `b${this.#blocks++}`
  }

  // ---- live parts

  #part({ activation, address, epoch, attempt, offset, part }: RunPart): void {
    if (part.type !== 'text.delta' && part.type !== 'reasoning.delta') return
    const kind: Kind = part.type === 'text.delta' ? 'text' : 'reasoning'
    if (!this.#speaks(activation)) {
      if (kind === 'text') this.#workerPart(activation, `${address} ${epoch} ${attempt}`, offset ?? 0, part.text)
      return
    }
    const before = this.#live.get(activation)
    const isSame = before?.address === address && before.epoch === epoch && before.attempt === attempt
    const isLate =
      before?.address === address && (epoch < before.epoch || (epoch === before.epoch && attempt < before.attempt))
    if (isLate) return
    if (before !== undefined && !isSame) this.#gone(before.blocks)
    const live: LiveAnswer = isSame ? before : { address, epoch, attempt, blocks: [], isCut: false }
    this.#live.set(activation, live)
    const heard = live.blocks.reduce((sum, each) => (each.kind === kind ? sum + each.text.length : sum), 0)
    live.isCut ||= offset !== undefined && offset !== heard
    if (live.isCut) return
    const key = `${kind} ${JSON.stringify(part.id)}`
    const last = live.blocks.at(-1)
    if (last?.key === key) last.text += part.text
    else {
      if (last !== undefined) this.#show({ type: 'block-end', block: last.id })
      live.blocks.push({ id: this.#newBlock(), kind, key, text: part.text })
    }
    this.#show({ type: kind, block: live.blocks.at(-1)!.id, text: part.text })
  }

  /** A model call has failed: what it showed was never said. */
  #withdraw(activation: ActivationId, address: string): void {
    const live = this.#live.get(activation)
    if (live?.address !== address) return
    this.#live.delete(activation)
    this.#gone(live.blocks)
  }

  #gone(blocks: readonly Block[]): void {
    if (blocks.length > 0)
      this.#changes.push({ type: 'withdraw', position: this.position, blocks: blocks.map(({ id }) => id) })
  }

  // ---- calls and questions

  #speaks(activation: ActivationId): boolean {
    return this.#holds.get(activation) === true
  }

  /** The model's id of a call is its own within one answer only. */
  #nameOf(activation: ActivationId, callId: string): string {
    const turn = this.#answers.get(activation)?.turn ?? ''
    return `${activation} ${turn} ${callId}`
  }

  #argumentsOf(activation: ActivationId, callId: string): Json {
    const calls = this.#answers.get(activation)?.answer['calls']
    const call = (Array.isArray(calls) ? (calls as readonly Json[]) : []).find(
      (each) => isObject(each) && each['id'] === callId,
    )
    return isObject(call) ? (call['input'] ?? null) : null
  }

  #call({ id, path }: IndexedActivation, callId: string, tool: string, input: Json): void {
    this.#callNamed(this.#nameOf(id, callId), id, tool, input, path)
  }

  #callNamed(name: string, activation: ActivationId, tool: string, input: Json, path: readonly string[]): void {
    const call = this.#calls.get(name) ?? `call_${digest(name).slice(0, 20)}`
    const isNew = !this.#calls.has(name)
    this.#calls.set(name, call)
    if (isNew) this.#open.set(call, activation)
    if (isNew) this.#show({ type: 'call', call, tool, input, path })
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

  // ---- workers

  #begun(here: IndexedActivation): void {
    const { id, agent, path, begunBy, isNotice: isSender } = here
    if (this.#speaks(id) || this.#workers.has(id) || isSender || isNotice(agent) || isToolAgent(agent)) return
    if (begunBy?.purpose !== undefined) return
    const line = { worker: { id, agent, path }, status: 'running', text: '', attempt: '', shownLength: 0 }
    this.#workers.set(id, line)
    this.#line(line)
  }

  #line(line: WorkerLine): void {
    line.shownLength = line.text.length
    const { worker, status, text } = line
    this.#show({ type: 'worker', worker: { ...worker, status, text: beginning(text, workerTextLength) } })
  }

  #status(line: WorkerLine, status: string): void {
    if (line.status === status) return
    line.status = status
    this.#line(line)
  }

  /** A worker, or the one above a tool that asks, waits for a person. */
  #waiting(activation: ActivationId, status: 'waiting' | 'running'): void {
    const { activations } = this.#transcript.index
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
    line.attempt = ''
    if (!isShown) this.#line(line)
  }

  /** Live text of a worker: its line is sent again when the text has grown by a tenth, and at least by 48 characters. */
  #workerPart(activation: ActivationId, attempt: string, offset: number, text: string): void {
    const line = this.#workers.get(activation)
    if (line === undefined) return
    if (line.attempt !== attempt) {
      if (offset !== 0) return
      line.attempt = attempt
      line.text = ''
      line.shownLength = 0
    }
    if (offset !== line.text.length) return
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

/** The texts and thoughts of a recorded answer, in their order. Adjacent ones of a kind are one. */
function blocksOf(answer: JsonObject): readonly Pick<Block, 'kind' | 'text'>[] {
  const text = answer['text'] as string
  const reasoning = answer['reasoning']
  const parts = isObject(reasoning) && Array.isArray(reasoning['parts']) ? (reasoning['parts'] as readonly Json[]) : []
  const blocks: Pick<Block, 'kind' | 'text'>[] = []
  let at = 0
  for (const part of parts) {
    if (!isObject(part)) continue
    if (part['type'] === 'reasoning' && typeof part['text'] === 'string')
      blocks.push({ kind: 'reasoning', text: part['text'] })
    if (part['type'] !== 'text' || typeof part['length'] !== 'number') continue
    blocks.push({ kind: 'text', text: text.slice(at, at + part['length']) })
    at += part['length']
  }
  return joinedBlocks([...blocks, { kind: 'text', text: text.slice(at) }])
}

const plainBlocks = (text: string): readonly Pick<Block, 'kind' | 'text'>[] =>
  text === '' ? [] : [{ kind: 'text', text }]

function joinedBlocks(blocks: readonly Pick<Block, 'kind' | 'text'>[]): readonly Pick<Block, 'kind' | 'text'>[] {
  const joined: { readonly kind: Kind; text: string }[] = []
  for (const { kind, text } of blocks) {
    const last = joined.at(-1)
    if (text === '') continue
    if (last?.kind === kind) last.text += text
    else joined.push({ kind, text })
  }
  return joined
}
