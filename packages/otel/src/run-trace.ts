/**
 * The trace of a run: a fold of its journal to spans and measurements.
 *
 * Owns: which events begin, change and end a span, its name, its attributes, its parent. Does not own: where spans go
 * (otlp.ts, api-sink.ts), which journals are read (export-run.ts, live.ts).
 * Holds: K1: the same events give the same spans, with the same ids, in every process and after every crash. Content is
 * in a span only where it was asked for. A child run has a trace of its own journal: its spans belong to the trace of the
 * run that it works for.
 */
import {
  childActivation,
  isToolAgent,
  parentOf,
  parseTraceparent,
  rootActivation,
  rootRun,
  runSpanId,
  spanIdOf,
  totalUsage,
  traceIdOf,
  type ActivationId,
  type Draft,
  type Json,
  type Outcome,
  type RunId,
  type TraceParent,
  type Usage,
} from '@reeve/core'
import {
  isNotice,
  type ActivationStarted,
  type ApprovalRequested,
  type Caller,
  type JournalEvent,
  type Recorded,
  type RunForked,
  type StepOpened,
  type StepSettled,
} from '@reeve/journal'
import { genAi, modelAttributes, errorType, reeve, type AttributeValue, type SpanAttributes } from './attributes.ts'
import { answerMessages, contentText, inputMessages, outputMessages } from './content.ts'
import type { Measurement, MetricName, ReeveSpan, SpanBeginning, SpanEvent, SpanLink } from './span.ts'
import { failureAttributes, spanEventOf } from './span-events.ts'

/** What the spans of a run hold. */
export interface TraceContent {
  /** What models, tools and people wrote: messages, arguments, results, reasons, names of approvers. Default false. */
  readonly content?: boolean
  /** Spans of recorded steps of code, and of timers. Default false: models, tools, agents and questions. */
  readonly steps?: boolean
}

/** A span that has not ended. */
interface OpenSpan {
  readonly spanId: string
  readonly parentId: string | undefined
  readonly name: string
  readonly kind: ReeveSpan['kind']
  from: number
  readonly attributes: { [name: string]: AttributeValue }
  events: SpanEvent[]
  links: SpanLink[]
  droppedEvents: number
  /** It went out before its end, marked as unfinished. */
  isTold?: true
}

/** The most events of a span: that of the SDKs. */
const mostEvents = 128

/** Addresses of what makes the plan of a team. Persistent, as all addresses. */
const planning = /^(?:@\d+\/)?planning(?:#\d+)?\//

type Opened = StepOpened | ApprovalRequested | Extract<JournalEvent, { type: 'interrupt.raised' | 'timer.set' }>

export class RunTrace {
  /** The position of the last event that was taken in. */
  position = 0
  readonly #options: TraceContent
  #last = 0
  #run: RunId | undefined
  #caller: Caller = {}
  #parent: TraceParent | undefined
  #traceId = ''
  #whole: OpenSpan | undefined
  readonly #agents = new Map<ActivationId, OpenSpan>()
  readonly #plans = new Map<ActivationId, OpenSpan>()
  readonly #operations = new Map<ActivationId, Map<string, { readonly span: OpenSpan; readonly event: Opened }>>()
  /** Approvals whose answer is there, and how they were resolved is not. */
  readonly #answered = new Map<
    string,
    { readonly activation: ActivationId; readonly span: OpenSpan; readonly to: number; readonly outcome: Outcome }
  >()
  /** Of a fork: how many events of each log were copied. Their spans are those of the origin. */
  readonly #copied = new Map<ActivationId, number>()
  /** The calls of models that began workers which have not begun to work. */
  readonly #calls = new Map<ActivationId, string>()
  /** Where content is wanted: the arguments of the calls of the last answer of each agent's model. */
  readonly #arguments = new Map<ActivationId, ReadonlyMap<string, Json>>()
  #spans: ReeveSpan[] = []
  #measurements: Measurement[] = []

  constructor(options: TraceContent = {}) {
    this.#options = options
  }

  /** Whether its run has ended: nothing more comes. */
  get isOver(): boolean {
    return this.position > 0 && this.#agents.size === 0
  }

  /** What has ended since this was asked for the last time. */
  drain(): { readonly spans: readonly ReeveSpan[]; readonly measurements: readonly Measurement[] } {
    const [spans, measurements] = [this.#spans, this.#measurements]
    this.#spans = []
    this.#measurements = []
    return { spans, measurements }
  }

  /** The span of the whole run as it began; undefined for a child run, and before the first event. */
  get beginning(): SpanBeginning | undefined {
    const whole = this.#whole ?? this.#ended
    return whole === undefined ? undefined : this.#shown(whole)
  }
  #ended: OpenSpan | undefined

  /** Spans that have not ended, as of the last event: each is marked as unfinished. */
  open(): readonly ReeveSpan[] {
    return this.#openSpans().map((span) => this.#unfinished(span))
  }

  /** Of the open spans those that began before this moment, each once. */
  openSince(before: number): readonly ReeveSpan[] {
    return this.#openSpans()
      .filter((span) => span.from < before && span.isTold !== true)
      .map((span) => {
        span.isTold = true
        return this.#unfinished(span)
      })
  }

  #openSpans(): readonly OpenSpan[] {
    const open = [this.#whole, ...this.#agents.values(), ...this.#plans.values()].filter((span) => span !== undefined)
    for (const of of this.#operations.values()) for (const { span } of of.values()) open.push(span)
    for (const { span } of this.#answered.values()) open.push(span)
    return open
  }

  #unfinished(span: OpenSpan): ReeveSpan {
    return {
      ...this.#shown(span),
      to: Math.max(span.from, this.#last),
      attributes: { ...span.attributes, [reeve.unfinished]: true },
    }
  }

  /** Takes in the next event. One that was taken in before changes nothing. */
  take(recorded: Recorded): void {
    const { position, run, activation, at, event } = recorded
    if (position <= this.position) return
    this.position = position
    this.#last = Math.max(this.#last, at)
    this.#run ??= run
    // a notice is part of how a question is put, and no member of any run
    if (event.type === 'activation.started') return isNotice(event.agent) ? undefined : this.#begin(recorded, event)
    const here = this.#agents.get(activation)
    if (here === undefined) return
    switch (event.type) {
      case 'activation.settled':
        return this.#settle(recorded, here, event.outcome, event.usage)
      case 'activation.restarted':
        this.#closeOperations(recorded, new Set(event.open.map(({ address }) => address)))
        return this.#note(here, recorded)
      case 'step.begun':
      case 'model.requested':
      case 'tool.called':
      case 'timer.set':
      case 'interrupt.raised':
      case 'approval.requested':
        return this.#open(recorded, here, event)
      case 'worker.started':
        if (event.callId !== undefined)
          this.#calls.set(childActivation(activation, event.address, event.apart), event.callId)
        this.#parentOf(activation, here, event.address, at)
        return
      case 'step.settled':
      case 'ask.settled':
        return this.#close(recorded, event.address, event)
      case 'step.attempt-failed':
      case 'effect.in-doubt':
      case 'effect.cleared':
        return this.#noteOperation(recorded, event)
      case 'approval.resolved':
        return this.#resolve(recorded, event)
      case 'plan.created':
        this.#parentOf(activation, here, event.address, at)
        return this.#planned(recorded, event)
      case 'run.forked':
        return this.#fork(at, event)
      default:
        if ('address' in event && 'op' in event && event.op === 'fact')
          this.#parentOf(activation, here, event.address, at)
        return this.#note(event.type.startsWith('run.') ? (this.#whole ?? here) : here, recorded)
    }
  }

  #begin({ activation, at, run }: Recorded, event: ActivationStarted): void {
    const place = parentOf(activation)
    if (activation === rootActivation(run)) this.#beginRun(run, at, event)
    const copied = event.copied?.at(-1)?.seq
    if (copied !== undefined) this.#copied.set(activation, copied)
    const isTool = isToolAgent(event.agent)
    const name = isTool ? event.agent.slice(event.agent.indexOf('.') + 1) : event.agent
    const input = isRecord(event.input) ? event.input : {}
    const assignment = isRecord(input['assignment']) ? input['assignment'] : {}
    const callId = this.#calls.get(activation)
    this.#calls.delete(activation)
    const leader = place === undefined ? undefined : this.#agents.get(place.parent)
    const parentId =
      place === undefined
        ? runSpanId(run)
        : leader === undefined
          ? spanIdOf(place.parent)
          : this.#parentOf(place.parent, leader, place.address, at)
    this.#agents.set(
      activation,
      this.#span(
        spanIdOf(activation),
        parentId,
        `${isTool ? 'execute_tool' : 'invoke_agent'} ${name}`,
        'internal',
        at,
        {
          [genAi.operation]: isTool ? 'execute_tool' : 'invoke_agent',
          ...(isTool
            ? { [genAi.toolName]: name, [genAi.toolType]: 'function' }
            : { [genAi.agentName]: name, [genAi.agentVersion]: event.version }),
          ...some(genAi.toolCallId, callId),
          ...some(reeve.delegation, input['delegation']),
          ...some(reeve.taskId, assignment['task']),
          ...some(reeve.taskMember, assignment['member']),
          [reeve.activation]: activation,
          ...this.#inputOf(event, isTool),
        },
      ),
    )
    const links = (event.earlier?.attempts ?? []).map((each): SpanLink => ({
      traceId: this.#traceId,
      spanId: spanIdOf(each.activation),
      attributes: { [reeve.activation]: each.activation },
    }))
    this.#agents.get(activation)!.links.push(...links)
  }

  /** What an agent, or a tool, was begun with; nothing where content is not wanted. */
  #inputOf({ input }: ActivationStarted, isTool: boolean): SpanAttributes {
    const brief = isRecord(input) ? input['brief'] : undefined
    return this.#options.content === true && isRecord(brief)
      ? { [isTool ? genAi.toolArguments : genAi.inputMessages]: briefContent(brief, isTool) }
      : {}
  }

  #beginRun(run: RunId, at: number, event: ActivationStarted): void {
    this.#caller = event.caller ?? {}
    this.#parent = this.#caller.traceparent === undefined ? undefined : parseTraceparent(this.#caller.traceparent)
    this.#traceId = traceIdOf(run, this.#caller.traceparent)
    if (rootRun(run) !== run) return
    this.#whole = this.#span(runSpanId(run), this.#parent?.spanId, `invoke_workflow ${event.agent}`, 'internal', at, {
      [genAi.operation]: 'invoke_workflow',
      [genAi.workflow]: event.agent,
      ...this.#inputOf(event, false),
    })
  }

  #settle(recorded: Recorded, here: OpenSpan, outcome: Outcome, usage: Usage = []): void {
    const { activation, at, run } = recorded
    const isCopied = this.#isCopied(recorded)
    this.#closeOperations(recorded, new Set())
    const plan = this.#plans.get(activation)
    this.#plans.delete(activation)
    if (plan !== undefined && !isCopied) this.#end(plan, at, outcome)
    this.#agents.delete(activation)
    this.#arguments.delete(activation)
    this.#copied.delete(activation)
    const used = usageAttributes(usage)
    Object.assign(here.attributes, used)
    const isTool = here.attributes[genAi.operation] === 'execute_tool'
    const output =
      this.#options.content !== true || outcome.status !== 'completed'
        ? {}
        : isTool
          ? { [genAi.toolResult]: contentText(outcome.output) }
          : { [genAi.outputMessages]: answerMessages(outcome.output) }
    Object.assign(here.attributes, output)
    if (!isCopied) {
      this.#end(here, at, outcome)
      this.#measure('gen_ai.client.operation.duration', seconds(here.from, at), at, {
        ...pick(here.attributes, [
          genAi.operation,
          genAi.provider,
          genAi.requestModel,
          genAi.agentName,
          genAi.toolName,
        ]),
        ...errorOf(outcome),
      })
    }
    if (activation !== rootActivation(run) || this.#whole === undefined) return
    // backends show the root span's input and output as the trace's own
    Object.assign(this.#whole.attributes, used, output)
    this.#end(this.#whole, at, outcome)
    this.#ended = this.#whole
    this.#whole = undefined
  }

  #open({ activation, at }: Recorded, here: OpenSpan, event: Opened): void {
    const parentId = this.#parentOf(activation, here, event.address, at)
    if ('refused' in event && event.refused !== undefined) {
      addEvent(here, {
        name: 'reeve.budget.refused',
        at,
        attributes: failureAttributes(event.refused as unknown as Json),
      })
      return
    }
    const shown = this.#operation(event, here, activation)
    if (shown === undefined) return
    const span = this.#span(spanIdOf(activation, event.address), parentId, shown.name, shown.kind, at, {
      ...shown.attributes,
      ...some(genAi.agentName, here.attributes[genAi.agentName]),
      [reeve.activation]: activation,
      [reeve.address]: event.address,
    })
    const open = this.#operations.get(activation) ?? new Map<string, { span: OpenSpan; event: Opened }>()
    this.#operations.set(activation, open.set(event.address, { span, event }))
  }

  /** The name, the kind and the first attributes of an operation; undefined: it has no span. */
  #operation(
    event: Opened,
    here: OpenSpan,
    activation: ActivationId,
  ): { readonly name: string; readonly kind: ReeveSpan['kind']; readonly attributes: SpanAttributes } | undefined {
    const { content = false, steps = false } = this.#options
    const internal = { kind: 'internal' as const }
    switch (event.type) {
      case 'model.requested': {
        const model = modelAttributes(event.model)
        if (here.attributes[genAi.requestModel] === undefined && here.attributes[genAi.operation] === 'invoke_agent')
          Object.assign(here.attributes, model)
        const purpose = some(reeve.purpose, event.purpose)
        return {
          name: `chat ${String(model[genAi.requestModel])}`,
          kind: 'client',
          attributes: { [genAi.operation]: 'chat', ...model, ...purpose },
        }
      }
      case 'tool.called':
        return {
          ...internal,
          name: `execute_tool ${event.tool}`,
          attributes: {
            [genAi.operation]: 'execute_tool',
            [genAi.toolName]: event.tool,
            [genAi.toolType]: 'function',
            ...some(genAi.toolCallId, event.callId),
            [reeve.effect]: event.effect,
            ...this.#argumentsOf(activation, event.callId, event.input),
          },
        }
      case 'approval.requested':
        return {
          ...internal,
          name: `reeve.approval ${event.tool}`,
          attributes: {
            [reeve.approvalId]: event.id,
            [reeve.approvalKind]: event.kind ?? 'tool',
            [reeve.approvalRisk]: event.risk,
            [genAi.toolName]: event.tool,
            ...some(genAi.toolCallId, event.callId),
            ...some(reeve.taskId, event.task),
            ...(content
              ? { [reeve.approvalReason]: contentText(event.reason), [reeve.approvalInput]: contentText(event.input) }
              : {}),
          },
        }
      case 'interrupt.raised':
        return {
          ...internal,
          name: 'reeve.interrupt',
          attributes: {
            [reeve.interruptId]: event.id,
            ...(content ? { [reeve.question]: contentText(event.question) } : {}),
          },
        }
      case 'step.begun':
      case 'timer.set': {
        if (!steps) return undefined
        const name = event.address.slice(event.address.lastIndexOf('/') + 1).replace(/#\d+$/, '')
        return {
          ...internal,
          name: `reeve.${event.type === 'timer.set' ? 'timer' : 'step'} ${name}`,
          attributes: event.type === 'timer.set' ? {} : { [reeve.effect]: event.effect },
        }
      }
    }
  }

  /** The arguments of a call: its own if they were changed, else those that the model gave. */
  #argumentsOf(activation: ActivationId, callId: string | undefined, input: Json | undefined): SpanAttributes {
    const given = input ?? this.#arguments.get(activation)?.get(callId ?? '')
    return this.#options.content === true && given !== undefined ? { [genAi.toolArguments]: contentText(given) } : {}
  }

  #close(
    recorded: Recorded,
    address: string,
    event: Extract<JournalEvent, { type: 'step.settled' | 'ask.settled' }>,
  ): void {
    const { activation, at } = recorded
    const open = this.#operations.get(activation)
    const found = open?.get(address)
    if (open === undefined || found === undefined) return
    open.delete(address)
    const { span, event: asked } = found
    if (asked.type === 'approval.requested') {
      this.#answered.set(asked.id, { activation, span, to: at, outcome: event.outcome })
      if (event.outcome.status === 'cancelled') this.#emitAnswered(recorded, asked.id)
      return
    }
    if (event.type === 'step.settled') this.#closeStep(recorded, span, asked, event)
    else if (!this.#isCopied(recorded)) {
      if (this.#options.content === true && event.outcome.status === 'completed')
        span.attributes['reeve.interrupt.answer'] = contentText(event.outcome.output)
      this.#end(span, at, event.outcome)
    }
  }

  #closeStep(
    recorded: Recorded,
    span: OpenSpan,
    asked: Opened,
    { outcome, attempts, usage = [], madeBy }: StepSettled,
  ): void {
    const { at } = recorded
    Object.assign(span.attributes, {
      ...some(reeve.attempts, attempts),
      ...some(reeve.madeBy, madeBy),
    })
    if (asked.type === 'model.requested') this.#answeredBy(span, recorded.activation, outcome, usage)
    else if (this.#options.content === true && asked.type === 'tool.called' && outcome.status === 'completed')
      span.attributes[genAi.toolResult] = contentText(outcome.output)
    if (this.#isCopied(recorded)) return
    this.#end(span, at, outcome)
    if (asked.type !== 'model.requested' && asked.type !== 'tool.called') return
    const common = {
      ...pick(span.attributes, [genAi.operation, genAi.provider, genAi.requestModel, genAi.responseModel]),
      ...(asked.type === 'tool.called' ? { [genAi.toolName]: asked.tool } : {}),
    }
    this.#measure('gen_ai.client.operation.duration', seconds(span.from, at), at, { ...common, ...errorOf(outcome) })
    for (const [type, name] of [
      ['input', genAi.inputTokens],
      ['output', genAi.outputTokens],
    ] as const) {
      const tokens = span.attributes[name]
      if (typeof tokens === 'number')
        this.#measure('gen_ai.client.token.usage', tokens, at, { ...common, [genAi.tokenType]: type })
    }
  }

  /** What is known of the answer of a model. Unknown usage stays unknown. */
  #answeredBy(span: OpenSpan, activation: ActivationId, outcome: Outcome, usage: Usage): void {
    const { input, output, usd, unknown, unpriced, calls } = totalUsage(usage)
    if (calls > 0 && unknown === 0)
      Object.assign(span.attributes, { [genAi.inputTokens]: input, [genAi.outputTokens]: output })
    if (calls > 0 && unknown === 0) Object.assign(span.attributes, partAttributes(usage))
    if (calls > 0 && unpriced === 0) span.attributes[reeve.costUsd] = usd
    if (outcome.status !== 'completed' || !isRecord(outcome.output)) return
    const { finish, response } = outcome.output
    if (typeof finish === 'string') span.attributes[genAi.finishReasons] = [finish]
    if (isRecord(response)) {
      Object.assign(
        span.attributes,
        some(genAi.responseId, response['id']),
        some(genAi.responseModel, response['model']),
      )
    }
    if (this.#options.content !== true) return
    const content = outputMessages(outcome.output)
    if (content !== undefined) span.attributes[genAi.outputMessages] = content
    this.#arguments.set(activation, argumentsIn(outcome.output['calls']))
  }

  /** What was open is closed with its agent, or with a segment of its log. */
  #closeOperations(recorded: Recorded, kept: ReadonlySet<string>): void {
    const { activation, at } = recorded
    for (const [id, each] of this.#answered) if (each.activation === activation) this.#emitAnswered(recorded, id)
    const open = this.#operations.get(activation)
    for (const [address, { span, event }] of open ?? []) {
      if (kept.has(address)) continue
      open!.delete(address)
      if (this.#isCopied(recorded)) continue
      if (event.type === 'approval.requested') span.attributes[reeve.approvalResolution] = 'cancelled'
      this.#end(span, at, { status: 'cancelled', reason: '' })
    }
    if (open?.size === 0) this.#operations.delete(activation)
  }

  #noteOperation(
    { activation, at }: Recorded,
    event: Extract<JournalEvent, { type: 'step.attempt-failed' | 'effect.in-doubt' | 'effect.cleared' }>,
  ): void {
    const found = this.#operations.get(activation)?.get(event.address)
    if (found === undefined) return
    addEvent(found.span, {
      name: `reeve.${event.type.replace('.', '_').replace('-', '_').replace('step_', '')}`,
      at,
      attributes:
        event.type === 'step.attempt-failed'
          ? {
              'reeve.attempt': event.attempt,
              'reeve.delay_ms': event.delayMs,
              ...failureAttributes(event.failure as unknown as Json),
              ...(this.#options.content === true
                ? { 'reeve.failure.message': contentText(event.failure.message) }
                : {}),
            }
          : {},
    })
  }

  #resolve(recorded: Recorded, event: Extract<JournalEvent, { type: 'approval.resolved' }>): void {
    const found = this.#answered.get(event.id)
    if (found === undefined) return
    Object.assign(found.span.attributes, {
      [reeve.approvalResolution]: event.resolution,
      ...(this.#options.content === true
        ? { ...some(reeve.approver, event.approver), ...some(reeve.approvalComment, event.comment) }
        : {}),
    })
    this.#emitAnswered(recorded, event.id)
  }

  #emitAnswered(recorded: Recorded, id: string): void {
    const found = this.#answered.get(id)
    if (found === undefined) return
    this.#answered.delete(id)
    if (this.#isCopied(recorded)) return
    const { span, to, outcome } = found
    if (outcome.status === 'cancelled') span.attributes[reeve.approvalResolution] ??= 'cancelled'
    // a deadline that passes is an answer, and how it was resolved says so
    this.#end(span, to, outcome.status === 'timed-out' ? { status: 'cancelled', reason: '' } : outcome)
    this.#measure(
      'reeve.approval.wait',
      seconds(span.from, to),
      to,
      pick(span.attributes, [genAi.toolName, reeve.approvalKind, reeve.approvalRisk, reeve.approvalResolution]),
    )
  }

  #planned(recorded: Recorded, event: Extract<JournalEvent, { type: 'plan.created' }>): void {
    const plan = this.#plans.get(recorded.activation)
    if (plan === undefined) return
    this.#plans.delete(recorded.activation)
    Object.assign(plan.attributes, {
      'reeve.plan.route': event.route,
      'reeve.plan.strategy': event.strategy,
      'reeve.plan.tasks': event.tasks.length,
      'reeve.plan.is_fallback': event.fallback !== undefined,
    })
    if (!this.#isCopied(recorded)) this.#end(plan, recorded.at, { status: 'completed', output: null })
  }

  /** The span that an operation stands under: that of the plan which is being made, or that of its agent. */
  #parentOf(activation: ActivationId, here: OpenSpan, address: string, at: number): string {
    const scope = planning.exec(address)?.[0]
    if (scope === undefined) return here.spanId
    const spanId = spanIdOf(activation, scope)
    if (!this.#plans.has(activation)) {
      const name = String(here.attributes[genAi.agentName] ?? '')
      this.#plans.set(
        activation,
        this.#span(spanId, here.spanId, `plan ${name}`, 'internal', at, {
          [genAi.operation]: 'plan',
          [genAi.agentName]: name,
          [reeve.activation]: activation,
        }),
      )
    }
    return spanId
  }

  /** What was copied stays in the trace of the origin; what goes on begins here. */
  #fork(at: number, { run, at: position }: RunForked): void {
    const link: SpanLink = {
      traceId: traceIdOf(run, this.#caller.traceparent),
      spanId: runSpanId(run),
      attributes: { [reeve.origin]: run, 'reeve.fork.position': position },
    }
    if (this.#whole !== undefined) {
      this.#whole.links.push(link)
      this.#whole.attributes[reeve.origin] = run
    }
    const open = [this.#whole, ...this.#agents.values(), ...this.#plans.values()]
    for (const operations of this.#operations.values()) for (const { span } of operations.values()) open.push(span)
    for (const { span } of this.#answered.values()) open.push(span)
    for (const span of open) {
      if (span === undefined) continue
      span.from = at
      span.events = []
    }
  }

  #isCopied({ activation, seq }: Recorded): boolean {
    return seq < (this.#copied.get(activation) ?? 0)
  }

  #span(
    spanId: string,
    parentId: string | undefined,
    name: string,
    kind: ReeveSpan['kind'],
    from: number,
    attributes: SpanAttributes,
  ): OpenSpan {
    const run = rootRun(this.#run!)
    return {
      spanId,
      parentId,
      name,
      kind,
      from,
      attributes: { ...attributes, [genAi.conversation]: this.#caller.session ?? run, [reeve.run]: this.#run! },
      events: [],
      links: [],
      droppedEvents: 0,
    }
  }

  #note(span: OpenSpan, recorded: Recorded): void {
    const shown = spanEventOf(recorded.event)
    if (shown !== undefined && !this.#isCopied(recorded)) addEvent(span, { ...shown, at: recorded.at })
  }

  #end(span: OpenSpan, to: number, outcome: Outcome): void {
    Object.assign(span.attributes, { [reeve.status]: outcome.status, ...errorOf(outcome) })
    if (outcome.status === 'limited') span.attributes[reeve.limit] = outcome.limit
    if (outcome.status === 'failed') span.attributes[reeve.failureClass] = outcome.failure.class
    const isError = errorType in span.attributes
    const message = this.#options.content === true ? messageIn(outcome) : undefined
    this.#spans.push({
      ...this.#shown(span),
      to: Math.max(to, span.from),
      ...(isError ? { error: message === undefined ? {} : { message: contentText(message) } } : {}),
    })
  }

  #shown(span: OpenSpan): SpanBeginning {
    const { spanId, parentId, name, kind, from, attributes, events, links, droppedEvents } = span
    const isRoot = this.#parent !== undefined && parentId === this.#parent.spanId
    const shown: Draft<SpanBeginning> = {
      run: rootRun(this.#run!),
      traceId: this.#traceId,
      spanId,
      flags: this.#parent?.flags ?? 1,
      name,
      kind,
      from,
      attributes: { ...attributes },
      events: [...events],
      links: [...links],
    }
    if (parentId !== undefined) shown.parentId = parentId
    if (isRoot) shown.hasRemoteParent = true
    if (droppedEvents > 0) shown.droppedEvents = droppedEvents
    return shown
  }

  #measure(metric: MetricName, value: number, at: number, attributes: SpanAttributes): void {
    this.#measurements.push({ metric, value, at, attributes })
  }
}

const isRecord = (value: unknown): value is { readonly [member: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The arguments of calls, by their ids. */
const argumentsIn = (calls: Json | undefined): ReadonlyMap<string, Json> =>
  new Map(
    (Array.isArray(calls) ? (calls as readonly Json[]) : []).flatMap((call) =>
      isRecord(call) && typeof call['id'] === 'string' ? [[call['id'], call['input'] ?? null] as const] : [],
    ),
  )

/** An attribute, where there is a value. */
const some = (name: string, value: unknown): SpanAttributes =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? { [name]: value } : {}

const pick = (attributes: SpanAttributes, names: readonly string[]): SpanAttributes =>
  Object.fromEntries(names.flatMap((name) => (attributes[name] === undefined ? [] : [[name, attributes[name]]])))

function addEvent(span: OpenSpan, event: SpanEvent): void {
  if (span.events.length < mostEvents) span.events.push(event)
  else span.droppedEvents++
}

const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1000

/** What stopped it, if that is an error: a cancel is none, and a hook that ends work on purpose neither. */
function errorOf(outcome: Outcome): SpanAttributes {
  if (outcome.status === 'failed') return { [errorType]: outcome.failure.code }
  if (outcome.status === 'limited') return { [errorType]: 'limit.reached' }
  if (outcome.status === 'timed-out') return { [errorType]: 'timeout' }
  return {}
}

function messageIn(outcome: Outcome): string | undefined {
  if (outcome.status === 'failed') return outcome.failure.message
  return outcome.status === 'limited' || outcome.status === 'timed-out' ? outcome.message : undefined
}

/** What of the tokens was read from a cache, was written to one, and was reasoning, as far as it is known. */
function partAttributes(usage: Usage): SpanAttributes {
  const { cached, cacheWrite = 0, reasoning } = totalUsage(usage)
  return {
    ...(cached > 0 ? { [genAi.cacheReadTokens]: cached } : {}),
    ...(cacheWrite > 0 ? { [genAi.cacheWriteTokens]: cacheWrite } : {}),
    ...(reasoning === undefined ? {} : { [genAi.reasoningTokens]: reasoning }),
  }
}

/** Of an agent or a run: everything below it included. */
function usageAttributes(usage: Usage): SpanAttributes {
  const { calls, unknown, unpriced, input, output, usd } = totalUsage(usage)
  if (calls === 0) return {}
  return {
    [reeve.modelCalls]: calls,
    ...(unknown < calls ? { [genAi.inputTokens]: input, [genAi.outputTokens]: output } : {}),
    ...partAttributes(usage),
    ...(unknown > 0 ? { [reeve.unknownCalls]: unknown } : {}),
    ...(unpriced < calls ? { [reeve.costUsd]: usd } : {}),
  }
}

function briefContent(brief: { readonly [member: string]: Json }, isTool: boolean): string {
  const given = brief['instructions'] ?? brief['input'] ?? null
  return isTool ? contentText(given) : inputMessages(given)
}
