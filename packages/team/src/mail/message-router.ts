/**
 * Message router: accepts mail of members and operators, and delivers it.
 *
 * Owns: what is accepted and what is refused, who waits, the facts of it, notes to members' models about new mail. Does
 * not own: bounds and inboxes (mailbox.ts), who waits for ever (../progress/deadlocks.ts), what a round of replies is
 * (../progress/mail-loops.ts).
 * Holds: K3: everything follows from commands in their recorded order. K6: a policy is a recorded step; the mail of one
 * sender is decided in the order in which it was sent. No sender waits for space in a mailbox: it takes, gives up or
 * refuses at once.
 */
import {
  isObject,
  jsonBytes,
  parentOf,
  present,
  type ActivationId,
  type Json,
  type JsonObject,
  type MessageId,
} from '@reeve/core'
import {
  noteMail,
  replyToCommand,
  type ReceivedCommand,
  type MailToSend,
  type Sent,
  type TeamCommand,
} from '@reeve/agent'
import { defaultApprovalTimeoutMs, type Oversight } from '@reeve/edge'
import type { Context, Ordinals } from '@reeve/engine'
import type { MailRefused } from '@reeve/journal'
import { escalateToBegin, refusalOf, reviewNote } from '@reeve/oversight'
import type { MemberCommandHandler, CommandSender } from './command-handlers.ts'
import type { Directory } from '../state/directory.ts'
import { decide, type TeamPolicy } from '../policy.ts'
import type { TaskEntry } from '../state/task-graph.ts'
import type { MailWaiter } from '../progress/deadlocks.ts'
import type { Exchanges } from '../progress/mail-loops.ts'
import { Mailbox, type MailboxState, type Truncation } from './mailbox.ts'
import { mailDefaults, type MailboxOptions } from './options.ts'
import { addresseesOf, addressOf } from './recipients.ts'

export interface MessageRouterParts {
  readonly ctx: Context
  readonly options: MailboxOptions | undefined
  /** The team's own. */
  readonly policy: TeamPolicy | undefined
  /** What holds for the team. */
  readonly oversight?: Oversight | undefined
  readonly directory: Directory
  /** A member waits for mail (true), in one way more or less than before; or ceases to. */
  readonly waitForMail: (entry: TaskEntry, waits: boolean) => void
  /** Asks a human for a member that waits for the answer; undefined: no member waits. */
  readonly waitForHuman: <T>(member: string | undefined, ask: (asking: () => void) => Promise<T>) => Promise<T>
  /**
   * Where a member works that is to be told of new mail; undefined for those that are not: they do not work, or look
   * for themselves.
   */
  readonly toldAt: (member: string) => ActivationId | undefined
  /** Tells replies that go round; default: none do. */
  readonly rounds?: Pick<Exchanges, 'wrote' | 'read' | 'moved'>
  /** It was decided whether mail may be taken. */
  readonly decided?: () => void
  /** Hears that the team was cancelled. */
  readonly leave: (thrown: unknown) => void
}

/** Who sends. */
interface Sender {
  readonly from: string
  /** Of members. */
  readonly role?: string
  /** The name given by the sender outside. */
  readonly by?: string
  readonly isMember: boolean
}

/** A member that waits for mail. */
interface InboxWait {
  readonly entry: TaskEntry
  readonly heard: ReceivedCommand
  readonly from: string | undefined
  readonly bounded: boolean
}

/** The facts of mail. */
export const mailFactTypes = [
  'mail.accepted',
  'mail.refused',
  'mail.truncated',
  'mail.forwarded',
  'mail.delivered',
] as const

/** Everything that mail has changed. */
export interface MessageRouterState {
  readonly mailbox: MailboxState
  /** By the tasks of those who wait, in the order in which they began to. */
  readonly waits: readonly (Omit<InboxWait, 'entry'> & { readonly task: string })[]
  readonly sent: readonly (readonly [string, number])[]
  readonly named: Ordinals
}

export class MessageRouter {
  readonly #parts: MessageRouterParts
  readonly #ctx: Context
  readonly #options: MailboxOptions
  readonly #mailbox: Mailbox
  /** In the order in which they began to wait. */
  #waits: InboxWait[] = []
  #sent = new Map<string, number>()
  /** Whose attempts have ended. */
  readonly #former = new Map<ActivationId, Sender>()
  /** The decisions on the mail of one sender, one after the other. */
  readonly #deciding = new Map<string, Promise<void>>()
  #undecided = 0

  constructor(parts: MessageRouterParts) {
    this.#parts = parts
    this.#ctx = parts.ctx.scope('mail')
    this.#options = parts.options ?? {}
    this.#mailbox = new Mailbox(this.#options)
  }

  /** Handles mail of a member or an operator. The receipt, if requested, says what became of it. */
  readonly send: MemberCommandHandler<'send'> = (command, speaker, heard) =>
    this.#send(senderOf(speaker, heard), command, heard)

  /**
   * Mail sent just before the end of an attempt may arrive after it, and is normal mail. False: this is no such thing.
   */
  readonly late = (heard: ReceivedCommand): boolean => {
    const { command, from } = heard
    const sender = command.do === 'send' && from !== undefined ? this.#formerly(from) : undefined
    if (sender === undefined || command.do !== 'send') return false
    this.#send(sender, { ...command, receipt: false }, heard)
    return true
  }

  #send(
    sender: Sender,
    { mail, receipt }: Extract<TeamCommand, { readonly do: 'send' }>,
    heard: ReceivedCommand,
  ): JsonObject | undefined {
    const reply = (sent: Sent): JsonObject | undefined => (receipt === true ? sent : undefined)
    const problem = mailProblem(mail, this.#options.maxBytes ?? mailDefaults.maxBytes)
    if (problem !== undefined) return reply(this.#refuse(sender, toText(mail), problem.reason, problem.message))
    if (this.#policies.length === 0) return reply(this.#take(sender, mail, { message: heard.id }))
    this.#decideLater(
      sender,
      mail,
      { message: heard.id },
      receipt === true ? (sent) => replyToCommand(this.#ctx, heard, sent) : undefined,
    )
    return undefined
  }

  /** Whose activation this was, or the one above it. */
  #formerly(activation: ActivationId): Sender | undefined {
    for (let at: ActivationId | undefined = activation; at !== undefined; at = parentOf(at)?.parent) {
      const sender = this.#former.get(at)
      if (sender !== undefined) return sender
    }
    return undefined
  }

  /** A member asks for its mail. */
  readonly inbox: MemberCommandHandler<'inbox'> = ({ wait, from, bounded, instead }, { entry }, heard) => {
    if (entry === undefined) return { mail: [], unread: 0 }
    const calledOff = instead === undefined ? undefined : this.#callOff(entry, (each) => each.heard.id === instead)
    const reply = this.#read(entry, typeof from === 'string' ? from : undefined)
    if (reply['mail'].length > 0 || wait !== true) return calledOff === undefined ? reply : { ...reply, calledOff }
    this.#waits.push({ entry, heard, from, bounded: bounded === true })
    this.#parts.waitForMail(entry, true)
    return undefined
  }

  /** Mail of the `lead`. However much it sends, no quota holds for it. */
  post(mail: MailToSend): void {
    const sender: Sender = { from: 'lead', isMember: false }
    const problem = mailProblem(mail, this.#options.maxBytes ?? mailDefaults.maxBytes)
    if (problem !== undefined) this.#refuse(sender, toText(mail), problem.reason, problem.message)
    else if (this.#policies.length === 0) this.#take(sender, mail, { content: mail.content })
    else this.#decideLater(sender, mail, { content: mail.content })
  }

  /** A member joins: gets the mail that waited for it. Idempotent. */
  joined(member: string): void {
    if (this.#mailbox.knows(member)) return
    const entry = this.#parts.directory.get(member)
    if (entry === undefined || !this.#parts.directory.isThere(member)) return
    const { seqs, truncations } = this.#mailbox.join(member, entry.role)
    if (seqs.length > 0) this.#ctx.emit({ type: 'mail.forwarded', member, seqs })
    this.#noteTruncations(truncations)
  }

  /** How much unread mail a member has that is about to begin. */
  unread(member: string): number {
    this.joined(member)
    return this.#mailbox.size(member)
  }

  /** An attempt of this member has ended: its wait is over. Its unread mail stays for the next one. */
  attemptEnded(entry: TaskEntry, activation: ActivationId): void {
    this.#former.set(activation, { from: entry.member, role: entry.role.role, isMember: true })
    this.#callOff(entry, () => true)
  }

  /** A task has ended: members that are off the team have left. */
  settled(): void {
    const { directory } = this.#parts
    for (const member of this.#mailbox.members) if (!directory.isThere(member)) this.left(member)
  }

  /** A member redoes its ended task. */
  back(member: string): void {
    this.#mailbox.back(member)
    this.joined(member)
  }

  /** A member has left: its unread mail is recorded. */
  left(member: string): void {
    this.#waits = this.#waits.filter(({ entry }) => entry.member !== member)
    const seqs = this.#mailbox.leave(member)
    if (seqs.length > 0) this.#ctx.emit({ type: 'mail.unread', member, seqs })
  }

  /**
   * Who waits for mail, each once, in the order in which they began to. A member with several pending waits wakes on
   * the first.
   */
  waiting(): readonly MailWaiter[] {
    const found = new Map<TaskEntry, MailWaiter>()
    for (const { entry, from, bounded } of this.#waits) {
      const before = found.get(entry)
      const sender = before === undefined || before.from === from ? from : undefined
      const ends = bounded || before?.bounded === true
      found.set(entry, {
        entry,
        ...present({ from: sender }),
        ...(ends ? { bounded: ends } : undefined),
      })
    }
    return [...found.values()]
  }

  /** Whether a policy, or a human, is asked about mail right now. */
  get undecided(): boolean {
    return this.#undecided > 0
  }

  /**
   * Ends the waits of a member that would never end: each rejects with this message, and with the tasks that wait for
   * each other.
   */
  failWait(entry: TaskEntry, message: string, cycle: readonly string[]): void {
    const own = this.#waits.filter((each) => each.entry === entry)
    this.#callOff(entry, () => true)
    for (const { heard } of own) replyToCommand(this.#ctx, heard, { mail: [], unread: 0, deadlock: message, cycle })
  }

  /** What all mail so far came to; undefined while something is being decided. */
  get state(): MessageRouterState | undefined {
    if (this.#undecided > 0) return undefined
    return {
      mailbox: this.#mailbox.state,
      waits: this.#waits.map(({ entry, heard, from, bounded }) => ({ task: entry.id, heard, from, bounded })),
      sent: [...this.#sent],
      named: this.#ctx.ordinals(),
    }
  }

  /** Goes on from there. `find`: a task. */
  goOn({ mailbox, waits, sent, named }: MessageRouterState, find: (task: string) => TaskEntry | undefined): void {
    const waited = new Set(this.#waits.map(({ entry }) => entry))
    this.#mailbox.state = mailbox
    this.#waits = waits.flatMap(({ task, heard, from, bounded }) => {
      const entry = find(task)
      return entry === undefined ? [] : [{ entry, heard, from, bounded }]
    })
    this.#sent = new Map(sent)
    this.#ctx.ordinals(named)
    const waiting = new Set(this.#waits.map(({ entry }) => entry))
    for (const entry of waited) if (!waiting.has(entry)) this.#parts.waitForMail(entry, false)
    for (const entry of waiting) this.#parts.waitForMail(entry, true)
  }

  get #policies(): readonly TeamPolicy[] {
    return [this.#options.policy, this.#parts.policy].filter((each) => each !== undefined)
  }

  #take(sender: Sender, { to, content, kind, correlationId }: MailToSend, source: Source): Sent {
    const { from, role, by, isMember } = sender
    const address = addressOf(to)!
    const { quota = 0 } = this.#options
    const sent = this.#sent.get(from) ?? 0
    if (isMember && quota > 0 && sent >= quota)
      return this.#refuse(sender, to, 'quota', `a member may send ${quota} messages, no more`)
    const round = isMember ? this.#parts.rounds?.wrote(from, to, content) : undefined
    if (round !== undefined) {
      const { kind, cycle, isNew } = round
      const message = `mail goes to and fro between ${cycle.join(' and ')}, and nothing comes of it`
      const tasks = cycle.map((member) => this.#parts.directory.get(member)?.task ?? member)
      if (isNew) this.#ctx.emit({ type: 'deadlock.found', kind, cycle: tasks, message })
      return this.#refuse(sender, to, kind, message)
    }
    const { directory } = this.#parts
    const addressees = addresseesOf(address, isMember ? from : undefined, directory)
    for (const member of addressees.recipients) this.joined(member)
    const about = { ...present({ kind, correlationId, role, by }) }
    const before = this.#mailbox.dropped
    const posted = this.#mailbox.post({ from, to, content, at: this.#ctx.now().getTime(), ...about }, addressees)
    if (!posted.accepted) return this.#refuse(sender, to, posted.reason, 'there is no room for more mail')
    const { seq, recipients, truncations } = posted
    if (isMember) this.#sent.set(from, sent + 1)
    else this.#parts.rounds?.moved() // a word from elsewhere
    this.#ctx.emit({
      type: 'mail.accepted',
      seq,
      from,
      to,
      recipients,
      ...present({ by, kind, correlationId }),
      ...source,
    })
    this.#noteTruncations(truncations)
    for (const member of recipients) this.#hand(member, seq)
    return { accepted: true, seq, recipients, dropped: this.#mailbox.dropped - before }
  }

  #refuse({ from, by }: Sender, to: string, reason: MailRefused['reason'], message: string): Sent {
    this.#ctx.emit({ type: 'mail.refused', from, to: to.slice(0, shownOfTo), reason, message, ...present({ by }) })
    return { accepted: false, reason, message }
  }

  #noteTruncations(truncations: readonly Truncation[]): void {
    for (const each of truncations) this.#ctx.emit({ type: 'mail.truncated', ...each })
  }

  /** New mail is in an inbox: gives it to the waiting member; else its model is told, once until it has read. */
  #hand(member: string, seq: number): void {
    const wait = this.#waits.find((each) => each.entry.member === member && this.#has(member, each.from))
    if (wait !== undefined) {
      this.#callOff(wait.entry, (each) => each === wait)
      return replyToCommand(this.#ctx, wait.heard, this.#read(wait.entry, wait.from))
    }
    const at = this.#mailbox.size(member) === 1 ? this.#parts.toldAt(member) : undefined
    if (at !== undefined) noteMail(this.#ctx, at, seq)
  }

  /** `done`: tells the member that waits for the receipt; undefined if none does. */
  #decideLater(sender: Sender, mail: MailToSend, source: Source, done?: (sent: Sent) => void): void {
    this.#undecided++
    const work = async (): Promise<void> => {
      const sent = await this.#decided(sender, mail, source, done !== undefined && sender.isMember)
      this.#undecided--
      done?.(sent)
      this.#parts.decided?.()
    }
    const last = this.#deciding.get(sender.from) ?? Promise.resolve()
    const next = last.then(work)
    this.#deciding.set(sender.from, next)
    next.catch(this.#parts.leave)
  }

  async #decided(sender: Sender, mail: MailToSend, source: Source, isAwaited: boolean): Promise<Sent> {
    const { from, role, by } = sender
    const { to, content, kind, correlationId } = mail
    const { place } = this.#ctx
    const ctx = this.#ctx.scope('decision')
    const letter = { to, content, ...present({ kind, correlationId }) }
    const { verdict, reason = 'the policy does not allow it' } = await decide(ctx, this.#policies, {
      action: 'message',
      actor: by ?? from,
      run: place.run,
      teamSize: this.#parts.directory.size('ever'),
      details: { from, ...letter },
      ...present({ role, user: place.caller.user }),
    })
    if (verdict === 'allow') return this.#take(sender, mail, source)
    if (verdict === 'deny') return this.#refuse(sender, to, 'policy', reason)
    const about = { kind: 'mail', tool: 'send_message', toolVersion: '1', input: { from, ...letter } } as const
    const why = `the policy asks for it: ${reason}`
    const asked = await this.#parts.waitForHuman(isAwaited ? from : undefined, (asking) =>
      escalateToBegin(
        ctx,
        this.#parts.oversight,
        { subject: 'action', name: 'message' },
        { always: true },
        { ...about, asking, reason: why, defaultTimeoutMs: defaultApprovalTimeoutMs },
      ),
    )
    if (asked?.approved !== true)
      return this.#refuse(
        sender,
        to,
        'policy',
        asked === undefined ? 'not approved (not asked)' : refusalOf({ kind: 'mail' }, asked),
      )
    const note = reviewNote({ what: 'this message', ran: asked.input }, asked)
    const noted = (sent: Sent): Sent => (sent.accepted ? { ...sent, ...present({ note }) } : sent)
    if (!asked.edited) return noted(this.#take(sender, mail, source))
    const problem = mailProblem(asked.input, this.#options.maxBytes ?? mailDefaults.maxBytes)
    if (problem !== undefined) return this.#refuse(sender, to, problem.reason, problem.message)
    const edited = asked.input as unknown as MailToSend
    return noted(this.#take(sender, edited, { content: edited.content }))
  }

  #has(member: string, from: string | undefined): boolean {
    return this.#mailbox.size(member) > 0 && (from === undefined || this.#mailbox.holds(member, from))
  }

  #read(entry: TaskEntry, from: string | undefined): { readonly mail: readonly JsonObject[]; readonly unread: number } {
    const { member } = entry
    this.joined(member)
    const mail = this.#mailbox.read(member, from)
    if (mail.length > 0) {
      this.#ctx.emit({ type: 'mail.delivered', member, seqs: mail.map(({ seq }) => seq) })
      this.#parts.rounds?.read(member)
    }
    return { mail: mail as unknown as readonly JsonObject[], unread: this.#mailbox.size(member) }
  }

  /** Ends waits of a member; says whether there were any. */
  #callOff(entry: TaskEntry, which: (wait: InboxWait) => boolean): boolean {
    const before = this.#waits.length
    this.#waits = this.#waits.filter((each) => each.entry !== entry || !which(each))
    if (this.#waits.length === before) return false
    const waits = this.#waits.some((each) => each.entry === entry)
    this.#parts.waitForMail(entry, waits)
    return true
  }
}

/** Where the content of mail is. */
type Source = { readonly message: MessageId } | { readonly content: Json }

/** How much of an address that makes no sense is recorded. */
const shownOfTo = 200

/** A sender outside is always the operator, under any name: it cannot write in the name of a member. */
const senderOf = ({ entry, name }: CommandSender, { by }: ReceivedCommand): Sender =>
  entry === undefined
    ? { from: 'operator', isMember: false, ...present({ by }) }
    : { from: name, role: entry.role.role, isMember: true }

const toText = (mail: unknown): string => (isObject(mail) && typeof mail['to'] === 'string' ? mail['to'] : '')

/** Why mail is none that could be taken. */
function mailProblem(
  mail: unknown,
  maxBytes: number,
): { readonly reason: 'invalid' | 'too_large'; readonly message: string } | undefined {
  const { to, content, kind, correlationId } = isObject(mail) ? mail : {}
  const wrong = [
    ...(typeof to !== 'string' || addressOf(to) === undefined
      ? ['"to" names a member, "role:<name>", or "*" for all others']
      : []),
    ...(content === undefined ? ['there is no content'] : []),
    ...(kind === undefined || typeof kind === 'string' ? [] : ['"kind" is a text']),
    ...(correlationId === undefined || typeof correlationId === 'string' ? [] : ['"correlationId" is a text']),
  ]
  if (content === undefined || wrong.length > 0) return { reason: 'invalid', message: wrong.join('; ') }
  const bytes = jsonBytes(content)
  return bytes <= maxBytes
    ? undefined
    : { reason: 'too_large', message: `its content has ${bytes} bytes as JSON, at most ${maxBytes} are taken` }
}
