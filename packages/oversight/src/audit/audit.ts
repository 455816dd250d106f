/**
 * Audit: who decided what in a run, when, and on what evidence, as a hash chain that reveals changes.
 *
 * Owns: the choice of facts, the chain over them, its head. Pure: a fold of the run's feed. Does not own: verifying a
 * document (audit-check.ts), keys (signer.ts), storing documents (the caller).
 * Holds: K1: nothing is stored for it. An entry depends on no later fact, so a later audit of a run begins with the
 * entries of an earlier one. The names and form of entries are persistent, as documents outlive versions of Reeve.
 */
import {
  asText,
  digestJson,
  isObject,
  isReeveMessage,
  present,
  rootActivation,
  type ActivationId,
  type Json,
  type JsonObject,
  type Outcome,
  type RunId,
} from '@reeve/core'
import {
  RunIndex,
  type ApprovalRequested,
  type ApprovalResolved,
  type IndexedOperation,
  type JournalEvent,
  type Recorded,
} from '@reeve/journal'
import { signDocument, type Signer } from './signer.ts'

/**
 * The author of an entry. `clock`: a deadline. `grant`: a human, earlier, for several calls. `runtime`: Reeve itself.
 * `caller`: the code that started the run without naming a user.
 */
export type AuditActor = 'human' | 'agent' | 'clock' | 'grant' | 'runtime' | 'caller'

/** One request, decision, command, or action under a decision. */
export interface AuditEntry {
  /** From 0. */
  readonly n: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** In the feed of the run. */
  readonly position: number
  readonly by: AuditActor
  /** The name or path of the author, if known. */
  readonly who?: string
  /** `approval.asked`, `approval.decided`, `action.requested`, `action.done`, … */
  readonly what: string
  /** The subject: a tool, a task, an id. */
  readonly subject: string
  /** The recorded facts about it. */
  readonly evidence: JsonObject
  /** The hash of the previous entry; for the first entry, a hash of the run's id. */
  readonly prev: string
  /** SHA-256 of the canonical JSON of everything else. */
  readonly hash: string
}

/** The summary of an audit, which is signed. */
export interface AuditHead {
  readonly format: 1
  readonly run: string
  readonly agent: string
  readonly entries: number
  /** The hash of the last entry. */
  readonly hash: string
  /** The position and time of the last fact that was read. */
  readonly position: number
  readonly at: number
  /** False: the run has not ended, so the audit is incomplete. */
  readonly ended: boolean
}

/** An audit document. */
export interface AuditDocument {
  readonly head: AuditHead
  /** A compact JWS over the head, of the type `auditType`. */
  readonly signature?: string
  readonly entries: readonly AuditEntry[]
}

/** The type of the signed document. Persistent. */
export const auditType = 'reeve-audit+jws'

/** The hash before the first entry of a run. */
export const auditBegin = (run: string): string => digestJson({ audit: 1, run })

/** The hash of an entry: everything but the hash itself. Pure. */
export function entryHash({ hash: _hash, ...entry }: { readonly hash?: unknown } & JsonObject): string {
  return digestJson(entry)
}

/** The audit of a run, entry by entry, from its events in the order of its feed. */
export class AuditChain {
  readonly #run: RunId
  readonly #known = new AuditFold()
  #head: Pick<AuditHead, 'agent' | 'position' | 'at' | 'ended'> = { agent: '', position: 0, at: 0, ended: false }
  #entries = 0
  #prev: string

  constructor(run: RunId) {
    this.#run = run
    this.#prev = auditBegin(run)
  }

  /** Takes in the next event. Returns the entries that follow. */
  take(recorded: Recorded): readonly AuditEntry[] {
    const { position, at, activation, event } = recorded
    const isRoot = activation === rootActivation(this.#run)
    const { agent, ended } = this.#head
    this.#head = {
      agent: isRoot && event.type === 'activation.started' ? event.agent : agent,
      position,
      at,
      ended: ended || (isRoot && event.type === 'activation.settled'),
    }
    return this.#known.read(recorded, isRoot).map(({ by, who, what, subject, evidence }) => {
      const entry = {
        n: this.#entries++,
        at,
        position,
        by,
        ...present({ who }),
        what,
        subject,
        evidence: JSON.parse(JSON.stringify(evidence)) as JsonObject,
        prev: this.#prev,
      }
      this.#prev = entryHash(entry)
      return { ...entry, hash: this.#prev }
    })
  }

  /** The head over the entries so far. */
  get head(): AuditHead {
    return { format: 1, run: this.#run, ...this.#head, entries: this.#entries, hash: this.#prev }
  }
}

/** The audit of a run; `events`: its feed from the first event on. */
export function auditOf(run: RunId, events: readonly Recorded[]): AuditDocument {
  const chain = new AuditChain(run)
  const entries = events.flatMap((recorded) => chain.take(recorded))
  return { head: chain.head, entries }
}

/** Signs the head. The key stays outside the store, so write access to the store is not enough to forge an audit. */
export async function signAudit({ head, entries }: AuditDocument, signer: Signer): Promise<AuditDocument> {
  return { head, signature: await signDocument(signer, auditType, head as unknown as Json), entries }
}

/** The content of an entry. */
interface EntryContent extends Pick<AuditEntry, 'by' | 'what' | 'subject'> {
  readonly who?: string | undefined
  readonly evidence: object
}

/** The earlier facts of a run that later entries refer to. */
class AuditFold {
  readonly #index = new RunIndex()
  /** As an audit names activations: the recorded path, else the agent alone. Part of the signed document. */
  readonly #paths = new Map<ActivationId, string>()
  /** Approvals by id. */
  readonly #requests = new Map<string, ApprovalRequested>()
  /** Decisions as they arrived, by the approval's id. */
  readonly #decisions = new Map<string, Outcome>()
  /** Given approvals, by capability, and by activation and call. */
  readonly #approvals = new Map<string, string>()
  /** Approved actions in progress, by activation and address. */
  readonly #actions = new Map<string, { readonly approval: string; readonly subject: string }>()
  readonly #doubts = new Set<string>()
  /** Whether the last event was the answer of a person. */
  #isAnswer = false

  read(recorded: Recorded, isRoot: boolean): readonly EntryContent[] {
    const { activation, event } = recorded
    const { closed = [] } = this.#index.take(recorded) ?? {}
    const followsAnswer = this.#isAnswer
    this.#isAnswer = event.type === 'ask.settled' && asksPerson(closed[0]?.event)
    if (event.type === 'activation.started') this.#paths.set(activation, (event.path ?? [event.agent]).join(' > '))
    const agent = this.#paths.get(activation)
    const at = (address: string): string => `${activation} ${address}`
    switch (event.type) {
      case 'activation.started':
        return isRoot ? [started(event)] : []
      case 'activation.settled':
        return isRoot
          ? [{ by: 'runtime', what: 'run.ended', subject: event.outcome.status, evidence: endOf(event.outcome) }]
          : []
      case 'approval.requested':
        return [this.#approvalAsked(event)]
      case 'approval.resolved':
        return this.#decided(event, activation)
      case 'approval.granted':
        this.#give(event.id, activation, event)
        return [
          { by: 'grant', who: event.approver, what: 'grant.used', subject: event.tool, evidence: withoutPlace(event) },
        ]
      case 'interrupt.raised':
        return [
          {
            by: 'agent',
            who: event.path.join(' > '),
            what: 'interrupt.asked',
            subject: event.id,
            evidence: withoutPlace(event),
          },
        ]
      case 'ask.settled':
        return this.#answered(closed[0]?.event, event.outcome)
      case 'tool.called':
      case 'worker.started':
        return this.#requested(event, activation, agent)
      case 'effect.held':
      case 'effect.released':
        return this.#left(at(event.address), event.type)
      case 'step.settled':
      case 'worker.settled':
        return this.#ended(at(event.address), event.address, event.outcome)
      case 'effect.in-doubt':
        this.#doubts.add(at(event.address))
        return [
          { by: 'runtime', who: agent, what: 'doubt.raised', subject: event.address, evidence: withoutPlace(event) },
        ]
      case 'effect.cleared':
        this.#doubts.delete(at(event.address))
        return [
          { by: 'human', who: event.by, what: 'doubt.settled', subject: event.address, evidence: { happened: false } },
        ]
      case 'message.received':
        return event.from === undefined ? saidFromOutside(event) : []
      case 'escalation.raised':
        return [{ by: 'runtime', who: agent, what: event.type, subject: event.name, evidence: withoutPlace(event) }]
      case 'result.assessed':
        return [{ by: 'agent', who: agent, what: event.type, subject: agent ?? '', evidence: withoutPlace(event) }]
      case 'notice.sent':
      case 'notice.failed':
        return [{ by: 'runtime', what: event.type, subject: event.id, evidence: withoutPlace(event) }]
      case 'trust.updated':
        return [{ by: 'runtime', what: event.type, subject: event.trust, evidence: withoutPlace(event) }]
      case 'fact.noted':
        return event.name === 'trust.level' && isObject(event.data)
          ? [
              {
                by: 'runtime',
                who: agent,
                what: 'trust.read',
                subject: asText(event.data['trust'] ?? null),
                evidence: event.data,
              },
            ]
          : []
      case 'cancel.received':
        return isRoot ? [byOperator(event, event.reason)] : []
      case 'run.pausing':
      case 'run.resumed':
      case 'run.taken-over':
      case 'run.handed-back':
      case 'control.ignored':
        return [byOperator(event, event.type === 'control.ignored' ? event.command : (event.reason ?? ''))]
      case 'run.forked': {
        const entry = byOperator(event, '')
        // a fork of before such an edit was asked again: the answer before it is none that a person gave
        const isAnswerEdited = followsAnswer && event.edit?.type === 'outcome' && event.asksAgain !== true
        return [isAnswerEdited ? { ...entry, evidence: { ...entry.evidence, answerEdited: true } } : entry]
      }
      case 'replay.resolved':
      case 'plan.edited':
      case 'plan.edit-refused':
        return [byOperator(event, '')]
      case 'task.settled':
      case 'task.reopened':
        // without a name, the task ended by itself
        return event.by === undefined ? [] : [byOperator(event, event.task)]
      default:
        return []
    }
  }

  #approvalAsked(event: ApprovalRequested): EntryContent {
    this.#requests.set(event.id, event)
    const { type: _type, op: _op, address: _address, ...evidence } = event
    return { by: 'agent', who: event.path.join(' > '), what: 'approval.asked', subject: event.tool, evidence }
  }

  /** A decision, with the request that it answers. */
  #decided(event: ApprovalResolved, activation: ActivationId): readonly EntryContent[] {
    const asked = this.#requests.get(event.id)
    const word = this.#decisions.get(event.id)
    const decision = word?.status === 'completed' && isObject(word.output) ? word.output : undefined
    const subject = asked?.tool ?? event.id
    const isByClock = clockResolutions.has(event.resolution)
    const by: AuditActor = isByClock ? 'clock' : event.resolution === 'cancelled' ? 'runtime' : 'human'
    const evidence = {
      ...withoutPlace(event),
      ...present({
        askedHash: asked?.inputHash,
        risk: asked?.risk,
        decision: decision?.['decision'],
        // edited arguments in full; unchanged ones are in the request
        input: decision?.['input'],
        // by a link, and who issued it
        link: decision?.['link'],
        human: by === 'human',
      }),
    }
    const said: EntryContent[] = [{ by, who: event.approver, what: 'approval.decided', subject, evidence }]
    if (isYes(event.resolution)) {
      this.#give(event.id, activation, { capability: event.capability, callId: asked?.callId })
      const grant = decision?.['grant']
      if (grant !== undefined && grant !== 'once')
        said.push({
          by: 'human',
          who: event.approver,
          what: 'grant.given',
          subject,
          evidence: { approval: event.id, grant },
        })
    }
    return said
  }

  #give(
    id: string,
    activation: ActivationId,
    { capability, callId }: { readonly capability?: string | undefined; readonly callId?: string | undefined },
  ): void {
    if (capability !== undefined) this.#approvals.set(capability, id)
    if (callId !== undefined) this.#approvals.set(`${activation} ${callId}`, id)
  }

  #answered(asked: IndexedOperation['event'] | undefined, outcome: Outcome): readonly EntryContent[] {
    if (asked?.type === 'approval.requested') this.#decisions.set(asked.id, outcome)
    if (asked?.type !== 'interrupt.raised') return []
    const by: AuditActor =
      outcome.status === 'timed-out' ? 'clock' : outcome.status === 'completed' ? 'human' : 'runtime'
    const who = outcome.status === 'completed' ? outcome.by : undefined
    const evidence = {
      id: asked.id,
      question: asked.question,
      ...endOf(outcome),
      ...(outcome.status === 'completed' ? { value: outcome.output } : undefined),
    }
    return [{ by, who, what: 'interrupt.answered', subject: asked.id, evidence }]
  }

  /** The request for an approved action. Only held effects have a separate start; the end says whether it was done. */
  #requested(
    event: Extract<JournalEvent, { readonly type: 'tool.called' | 'worker.started' }>,
    activation: ActivationId,
    agent: string | undefined,
  ): readonly EntryContent[] {
    const capability = event.type === 'tool.called' ? event.capability : undefined
    const call = event.callId === undefined ? undefined : this.#approvals.get(`${activation} ${event.callId}`)
    const approval = (capability === undefined ? undefined : this.#approvals.get(capability)) ?? call
    if (approval === undefined && capability === undefined) return []
    const subject = event.type === 'tool.called' ? event.tool : event.agent
    const evidence = present({
      approval,
      capability,
      callId: event.callId,
      // as requested, before later changes
      input: event.type === 'tool.called' ? event.input : undefined,
    })
    this.#actions.set(`${activation} ${event.address}`, { approval: approval ?? capability ?? '', subject })
    return [{ by: 'agent', who: agent, what: 'action.requested', subject, evidence }]
  }

  #left(at: string, type: 'effect.held' | 'effect.released'): readonly EntryContent[] {
    const acting = this.#actions.get(at)
    if (acting === undefined) return []
    const what = type === 'effect.held' ? 'action.held' : 'action.begun'
    return [{ by: 'runtime', what, subject: acting.subject, evidence: { approval: acting.approval } }]
  }

  #ended(at: string, address: string, outcome: Outcome): readonly EntryContent[] {
    const said: EntryContent[] = []
    const given = outcome.status === 'completed' ? outcome.by : undefined
    if (this.#doubts.delete(at))
      said.push({
        by: 'human',
        who: given,
        what: 'doubt.settled',
        subject: address,
        evidence: { happened: true, ...endOf(outcome) },
      })
    // a human gave the result in place of the worker
    else if (outcome.status === 'completed' && given !== undefined)
      said.push({
        by: 'human',
        who: given,
        what: 'result.given',
        subject: address,
        evidence: { output: outcome.output },
      })
    const acting = this.#actions.get(at)
    if (acting === undefined) return said
    this.#actions.delete(at)
    const what = outcome.status === 'completed' ? 'action.done' : 'action.failed'
    return [
      ...said,
      { by: 'runtime', what, subject: acting.subject, evidence: { approval: acting.approval, ...endOf(outcome) } },
    ]
  }
}

const clockResolutions: ReadonlySet<ApprovalResolved['resolution']> = new Set([
  'timed-out-approved',
  'timed-out-rejected',
  'escalated',
])

/** Whether a question is one to a person, and none to the clock alone. */
const asksPerson = (asked: IndexedOperation['event'] | undefined): boolean =>
  asked?.type === 'approval.requested' || asked?.type === 'interrupt.raised'

const isYes = (resolution: ApprovalResolved['resolution']): boolean =>
  resolution === 'approved' || resolution === 'edited' || resolution === 'timed-out-approved'

function started({
  agent,
  version,
  input,
  caller,
}: Extract<JournalEvent, { readonly type: 'activation.started' }>): EntryContent {
  const oversight = isObject(input) ? input['oversight'] : undefined
  const who = caller?.by ?? caller?.user
  // for whom, where that is another person
  const user = caller?.by === undefined ? undefined : caller.user
  const evidence = present({ version, inputHash: digestJson(input), oversight, session: caller?.session, user })
  return {
    by: who === undefined ? 'caller' : 'human',
    who,
    what: 'run.started',
    subject: agent,
    evidence,
  }
}

/** The end of an operation, with the hash of its output. */
function endOf(outcome: Outcome): JsonObject {
  const output = outcome.status === 'completed' ? { outputHash: digestJson(outcome.output) } : undefined
  const code = outcome.status === 'failed' ? { failure: outcome.failure.code } : undefined
  const reason = outcome.status === 'cancelled' ? { reason: outcome.reason } : undefined
  return { status: outcome.status, ...output, ...code, ...reason }
}

function withoutPlace(event: JournalEvent): object {
  const { type: _type, op: _op, address: _address, ...evidence } = event as unknown as JsonObject
  return evidence
}

/** A command. A limit, and the escalation of a pause, come from the runtime, not from a human. */
const byOperator = (event: JournalEvent, subject: string): EntryContent => ({
  by:
    ('limit' in event && event.limit !== undefined) || ('escalated' in event && event.escalated === true)
      ? 'runtime'
      : 'human',
  who: 'by' in event && typeof event.by === 'string' ? event.by : undefined,
  what: event.type,
  subject,
  evidence: withoutPlace(event),
})

/**
 * A message from outside: an operator's command, or one whose sender is recorded. Who sent it stands beside it: a name in
 * the body is evidence of nothing but the body.
 */
function saidFromOutside({
  body,
  by: who,
}: Extract<JournalEvent, { type: 'message.received' }>): readonly EntryContent[] {
  if (!isReeveMessage(body))
    return who === undefined
      ? []
      : [{ by: 'human', who, what: 'operator.said', subject: 'message', evidence: { message: body } }]
  const { type, do: verb } = body
  const subject = typeof verb === 'string' ? verb : type.slice(1)
  return [{ by: 'human', who, what: 'operator.said', subject, evidence: body }]
}
