/**
 * Typed message channels: each is one type of message between activations, declared once.
 *
 * Owns: how a message of a channel is written and sent, whether an arrival is one, and whose; requests and their
 * replies. Does not own: what the messages say (the room that declares a channel), how they travel and how long they
 * may be (the engine).
 * Holds: K3: both sides wait for arrivals, so replay hears them in the recorded order. K4: a channel's name and members
 * are persistent format. A body was written by others: only its own members are read, as the channel says, and a body
 * that does not fit is no message of the channel. From outside, only the runtime's own commands have the name of a
 * channel: the engine refuses any other message with it, and who sent one stands beside the body. A request whose receiver is gone is refused; it never hangs.
 */
import { isObject, own, present, type ActivationId, type Json, type JsonObject, type MessageId } from '@reeve/core'
import type { Arrival, Context } from '../context.ts'

/** A received message. */
export interface ChannelMessage<Body> {
  readonly id: MessageId
  /** Undefined: it was posted from outside. */
  readonly from: ActivationId | undefined
  /** Who posted it from outside, as recorded beside the body. */
  readonly by?: string
  readonly body: Body
}

/**
 * Who must have sent a message. `outside`: no activation. `anyone`: default. An activation: that one; `below`: or any
 * of its workers.
 */
export type ExpectedSender = 'anyone' | 'outside' | { readonly activation: ActivationId; readonly below?: true }

/** One own member of a body; undefined if it is not there. */
export type ReadMember = (name: string) => Json | undefined

/** `Body`: the message as its receiver reads it. `Sent`: the message as its sender gives it. */
export class TypedChannel<Body, Sent extends object = Body & object> {
  readonly #name: string
  readonly #read: (member: ReadMember, body: JsonObject) => Body | undefined

  /**
   * `name`: the `type` of its messages. `read`: the body, from its own members; undefined if the body does not fit the
   * channel.
   */
  constructor(name: string, read: (member: ReadMember, body: JsonObject) => Body | undefined) {
    this.#name = name
    this.#read = read
  }

  /** The message as it is recorded. */
  message(body: Sent): Json {
    return { type: this.#name, ...body }
  }

  /** Sends a message. It leaves with the next commit. */
  send(ctx: Context, to: ActivationId, body: Sent): MessageId {
    return ctx.send(to, this.message(body))
  }

  /** Whether a body says that it is of this channel, readable or not. */
  claims(body: Json): body is JsonObject {
    return isObject(body) && own(body, 'type') === this.#name
  }

  /** The message in an arrival; undefined if it is of another channel or another sender. */
  in(arrival: Arrival, sender: ExpectedSender = 'anyone'): ChannelMessage<Body> | undefined {
    if (arrival.type !== 'message' || !isFrom(arrival.from, sender) || !this.claims(arrival.body)) return undefined
    const { id, from, by, body: given } = arrival
    const body = this.#read((name) => own(given, name), given)
    return body === undefined ? undefined : { id, from, ...present({ by }), body }
  }
}

function isFrom(from: ActivationId | undefined, sender: ExpectedSender): boolean {
  if (sender === 'anyone') return true
  if (sender === 'outside') return from === undefined
  return from === sender.activation || (sender.below === true && from?.startsWith(`${sender.activation}>`) === true)
}

/** A channel of requests, and how they are replied to. */
export class RequestChannel<Request, Reply, Sent extends object = Request & object> extends TypedChannel<
  Request,
  Sent
> {
  readonly #replies: TypedChannel<{ readonly to: Json | undefined; readonly reply: Reply }, { readonly to: MessageId }>
  readonly #write: (reply: Reply) => object
  readonly #gone: Reply

  /** `gone`: the reply where the other side has ended. */
  constructor(
    name: string,
    read: (member: ReadMember, body: JsonObject) => Request | undefined,
    replies: Replies<Reply>,
  ) {
    super(name, read)
    this.#replies = new TypedChannel(replies.name, (member) => {
      const reply = replies.read(member)
      return reply === undefined ? undefined : { to: member('to'), reply }
    })
    this.#write = replies.write
    this.#gone = replies.gone
  }

  /** Waits for the reply to a request. Rejects only with `Cancelled`. */
  async reply(ctx: Context, to: ActivationId, request: MessageId): Promise<Reply> {
    return (
      this.replyIn(await ctx.next((each) => this.replyIn(each, to, request) !== undefined), to, request) ?? this.#gone
    )
  }

  /** Sends a request and waits for its reply. */
  request(ctx: Context, to: ActivationId, body: Sent): Promise<Reply> {
    return this.reply(ctx, to, this.send(ctx, to, body))
  }

  /** The reply to a request, if the arrival is one. A refused request, too, has a reply (`gone`). */
  replyIn(arrival: Arrival, of: ActivationId, request: MessageId): Reply | undefined {
    if (arrival.type === 'message.refused') return arrival.id === request ? this.#gone : undefined
    const heard = this.#replies.in(arrival, { activation: of })?.body
    return heard?.to === request ? heard.reply : undefined
  }

  /** Replies to a request. A request from outside gets none: its sender reads the journal. */
  answer(ctx: Context, { id, from }: Pick<ChannelMessage<unknown>, 'id' | 'from'>, reply: Reply): void {
    if (from !== undefined) this.#replies.send(ctx, from, { to: id, ...this.#write(reply) })
  }
}

/** How the replies of a channel are written down. */
export interface Replies<Reply> {
  readonly name: string
  readonly read: (member: ReadMember) => Reply | undefined
  readonly write: (reply: Reply) => object
  /** Where the other side has ended. */
  readonly gone: Reply
}
