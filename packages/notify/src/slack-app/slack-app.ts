/**
 * `slackApp`: approvals as messages in Slack with buttons that decide.
 *
 * Owns: the options, the channel that posts, the path at which Slack posts presses of buttons, whose decision a press
 * is. Does not own: messages (slack-message.ts), their updates (message-updates.ts), the rules of a decision: they are
 * those of `runtime.decide`, of the roles and of the tenants, as at every other door.
 * Holds: a request without Slack's signature is refused before it is read. Who is not among `people` decides nothing. A
 * press decides exactly what its message shows, by the hash of the arguments. The same request again is answered as the
 * first one.
 */
import {
  duration,
  expects,
  FailureError,
  functionCheck,
  hasNames,
  own,
  ReeveError,
  required,
  secret,
  systemClock,
  unchecked,
  wholeNumber,
  type Check,
  type Checks,
  type JsonObject,
} from '@reeve/core'
import { warning } from '@reeve/engine'
import type { Channel, Notice } from '@reeve/oversight'
import { approvalsAmong } from '@reeve/runtime'
import type { Principal, Protocol, ProtocolContext, ShownError } from '@reeve/server'
import { principalProblems } from '@reeve/server/principal'
import { addressCheck, attemptsMost, mustBeOptionsOf } from '../options.ts'
import type { Fetch } from '../post.ts'
import { addressOf, type Link } from '../rendered-notice.ts'
import { interactionIn, type SlackInteraction, type SlackUser } from './interaction.ts'
import { followMessages, placeIn, updateMessage } from './message-updates.ts'
import { slackApi, type SlackApi } from './slack-api.ts'
import {
  noticeOf,
  openMessage,
  personalMessage,
  reasonForm,
  settledMessage,
  type SlackEnding,
  type SlackPlace,
  type SlackTarget,
  type SlackVerb,
} from './slack-message.ts'
import { signatureOf, toleranceMs } from './slack-signature.ts'

/** Who in Slack is who here: by the id of the user, or a function. Undefined: they see a message, and decide nothing. */
export type SlackPeople =
  Readonly<Record<string, Principal>> | ((user: SlackUser) => Principal | undefined | Promise<Principal | undefined>)

/** A Slack app, and where it is told. */
export interface SlackAppOptions {
  /** Of its bot (`xoxb-…`), with the scope `chat:write`. */
  readonly token: string
  /** The app's signing secret; several while it is being changed. */
  readonly signingSecret: string | readonly string[]
  /** The id of the channel: `C…`. The app is a member of it. */
  readonly channel: string
  /** The id of the workspace: `T…`. People of another one decide nothing, also in a shared channel. */
  readonly team: string
  readonly people: SlackPeople
  /** The address of a page that shows the run. It must not decide anything when it is opened. Default: none. */
  readonly link?: Link
  /** Of the channel, as `notify` names it. Default `slack`. */
  readonly name?: string
  /** Where Slack posts presses of buttons: the path of the app's request URL. Default `/slack`. */
  readonly path?: string
  /** Milliseconds for one try. Default 10 seconds. */
  readonly timeoutMs?: number
  /** The maximum number of attempts, at most 5 minutes apart, while the request is open. Default 50: about 3 hours. */
  readonly attempts?: number
  /** Told of what an operator should know: a message that could not be sent or updated. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void
  /** The base of the Web API, with a slash at its end. Default `https://slack.com/api/`. */
  readonly apiUrl?: string
  /** Default: `fetch`. */
  readonly fetch?: Fetch
}

/** An app in Slack: give `channel` to `createRuntime({ channels })` and `protocol` to `createServer({ protocols })`. */
export interface SlackApp {
  readonly channel: Channel
  readonly protocol: Protocol
}

const isSecret = (given: unknown): boolean => typeof given === 'string' && /^[\x21-\x7e]{16,}$/.test(given)
const idOf = (what: string, form: RegExp): Check =>
  expects((given) => typeof given === 'string' && form.test(given), `the id of ${what}`)
const peopleCheck: Check = (given, where) =>
  typeof given === 'function'
    ? []
    : hasNames(given)
      ? Object.entries(given).flatMap(([id, principal]: [string, unknown]) => [
          ...(/^[UW][A-Z0-9]{1,30}$/.test(id)
            ? []
            : [`${where}: "${id.slice(0, 40)}" is no id of a user of Slack (U…)`]),
          ...principalProblems(principal, `${where}.${id}`),
        ])
      : [`${where}: expected principals by the ids of users of Slack, or a function`]

const checks: Checks<SlackAppOptions> = {
  token: required(secret(isSecret, 'must be a token of a bot (xoxb-…)')),
  signingSecret: required(
    secret((given) => {
      const all: readonly unknown[] = Array.isArray(given) ? given : [given]
      return all.length > 0 && all.every(isSecret)
    }, 'must be the signing secret of the app, of at least 16 characters'),
  ),
  channel: required(idOf('a channel of Slack, such as C0123456789', /^[CGD][A-Z0-9]{1,30}$/)),
  team: required(idOf('a workspace of Slack, such as T0123456789', /^[TE][A-Z0-9]{1,30}$/)),
  people: required(peopleCheck),
  link: functionCheck,
  name: unchecked, // by the runtime
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path, such as "/slack"'),
  timeoutMs: duration,
  attempts: wholeNumber(1),
  onError: functionCheck,
  apiUrl: addressCheck,
  fetch: functionCheck,
}

/** Slack waits three seconds for an answer. What takes longer goes on, and is told in the channel. Milliseconds. */
const answerMs = 2_500
/** A message of Slack's comes back whole with each press: form-encoded, up to ten characters for one. Bytes. */
const largestRequest = 512 * 1024

/**
 * Approvals in Slack: a message with the exact arguments and the buttons Approve and Reject, which decide in the name of
 * the principal that `people` has for who presses them, by the rules that hold everywhere: role, tenant, approvers, four
 * eyes, deadline, `mayDecide`. Arguments too long for a message are not approved there. When it is decided or over,
 * wherever that was, the message says so. Slack knows no idempotency: a try that arrived, and whose answer did not, is
 * seen twice. Throws `config.invalid` for invalid options.
 */
export function slackApp(options: SlackAppOptions): SlackApp {
  mustBeOptionsOf('slackApp', options, checks)
  const { name = 'slack', path = '/slack', timeoutMs = 10_000, attempts = attemptsMost, link, channel } = options
  const { token, apiUrl = 'https://slack.com/api/', fetch } = options
  const onError = options.onError ?? ((error: unknown) => warning('notice.failed', `slack: ${messageOfError(error)}`))
  const api = slackApi({ token, apiUrl, fetch })
  const shownAt = (notice: Notice): string | undefined => addressOf(link, notice)
  const interactions = new SlackInteractions({ ...options, api, timeoutMs, onError, shownAt })
  return {
    channel: {
      name,
      timeoutMs,
      attempts,
      async notify(notice, io) {
        try {
          const sent = await api(
            'chat.postMessage',
            { channel, ...openMessage(notice, shownAt(notice)), ...quiet },
            io.signal,
          )
          return placeIn(sent) as JsonObject | undefined
        } catch (thrown) {
          // no other try will mend it, and the request waits on
          if (thrown instanceof FailureError && !thrown.failure.retryable) onError(thrown)
          throw thrown
        }
      },
    },
    protocol: {
      paths: [path],
      open: [path],
      openBodyBytes: largestRequest,
      handle: (request, context) => interactions.handle(request, context),
      refuse: refused,
      follow: (runtime, signal) =>
        followMessages({ name, api, timeoutMs, addressOf: shownAt, onError }, runtime, signal),
    },
  }
}

const quiet = { unfurl_links: false, unfurl_media: false }
const messageOfError = (error: unknown): string => {
  if (error instanceof FailureError) {
    const { message, hint } = error.failure
    return hint === undefined ? message : `${message}. ${hint}`
  }
  return error instanceof Error ? error.message : String(error)
}

/** Slack shows no body of a refusal; who looks at its log sees the code. */
const refused = ({ status, code, message }: ShownError): Response =>
  Response.json({ error: { code, message } }, { status })

interface InteractionSettings extends Pick<SlackAppOptions, 'people' | 'team' | 'signingSecret'> {
  readonly api: SlackApi
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
  readonly shownAt: (notice: Notice) => string | undefined
}

/** How many requests are remembered, so that one that is sent again is not done again. */
const remembered = 10_000

class SlackInteractions {
  readonly #settings: InteractionSettings
  readonly #secrets: readonly string[]
  /** The answers to requests by their signature, the oldest first. */
  readonly #answered = new Map<string, { readonly at: number; readonly answer: Promise<JsonObject | undefined> }>()

  constructor(settings: InteractionSettings) {
    this.#settings = settings
    this.#secrets = [settings.signingSecret].flat()
  }

  async handle(request: Request, context: ProtocolContext): Promise<Response> {
    if (request.method !== 'POST')
      throw new ReeveError('request.unknown-path', `there is no ${request.method} here`, {
        hint: 'Slack posts presses of buttons to this path.',
      })
    const body = await context.text()
    const now = systemClock.now()
    const signature = signatureOf(request.headers, body, this.#secrets, now)
    if (signature === undefined)
      throw new ReeveError(
        'request.not-authenticated',
        'the request is not signed by Slack, or is older than 5 minutes',
        {
          hint: 'Check signingSecret of slackApp, and the clock of this machine. Nothing was done.',
        },
      )
    const interaction = interactionIn(body)
    if (interaction === undefined)
      throw new ReeveError('input.invalid', 'the body has no payload of Slack', { hint: 'Nothing was done.' })
    const answer = await this.#once(signature, now, () => this.#inTime(interaction, context))
    return answer === undefined ? new Response(null, { status: 200 }) : Response.json(answer)
  }

  /** Sent again by Slack, or by somebody who has seen it: it is answered as before. What failed may be tried again. */
  #once(signature: string, now: number, work: () => Promise<JsonObject | undefined>): Promise<JsonObject | undefined> {
    const before = this.#answered.get(signature)
    if (before !== undefined) return before.answer
    for (const [key, { at }] of this.#answered) {
      if (this.#answered.size < remembered && now - at <= 2 * toleranceMs) break
      this.#answered.delete(key)
    }
    const answer = work()
    this.#answered.set(signature, { at: now, answer })
    answer.catch(() => this.#answered.delete(signature))
    return answer
  }

  /** The answer to Slack within its three seconds; what is not done then is told in the channel. */
  async #inTime(interaction: SlackInteraction, context: ProtocolContext): Promise<JsonObject | undefined> {
    if (interaction.type === 'other') return undefined
    const { user, place } = interaction
    let isLate = false
    let callOff = (): void => {}
    const late = new Promise<undefined>((resolve) => {
      callOff = systemClock.timer(systemClock.now() + answerMs, () => {
        isLate = true
        resolve(undefined)
      })
    })
    const work = this.#act(interaction, context).catch((thrown: unknown) => {
      const { status, code, message } = context.shown(thrown)
      // Slack asks again where the server failed, unless it has had its answer
      if (status >= 500 && !isLate) throw thrown
      return { refusal: status >= 500 ? `Nothing was decided: ${code}. Try again.` : message }
    })
    const told = work.then(async (refusal) => {
      if (refusal === undefined) return undefined
      if (interaction.type === 'reason' && !isLate)
        return { response_action: 'errors', errors: { reason: refusal.refusal.slice(0, 500) } }
      await this.#tell(user, place, refusal.refusal)
      return undefined
    })
    try {
      return await Promise.race([told, late])
    } finally {
      callOff()
    }
  }

  /** What the press says is done. Resolves to why it was not, for who pressed; rejects as the runtime does. */
  async #act(
    interaction: Exclude<SlackInteraction, { type: 'other' }>,
    context: ProtocolContext,
  ): Promise<{ readonly refusal: string } | undefined> {
    const { user, target, place } = interaction
    const principal = await this.#principalOf(user)
    if (principal === undefined)
      return { refusal: 'You may look at this, and not decide it: nobody here is known by your name in Slack.' }
    const own = context.as(principal)
    own.mustAllow('slack decide')
    if (interaction.type === 'button' && interaction.verb === 'reject')
      return this.#askWhy(target, place, interaction.triggerId)
    const [verb, comment]: [SlackVerb, string | undefined] =
      interaction.type === 'reason' ? ['reject', interaction.reason.trim() || undefined] : ['approve', undefined]
    return this.#decide(own, principal, { target, place, verb, comment })
  }

  async #principalOf(user: SlackUser): Promise<Principal | undefined> {
    const { people, team } = this.#settings
    if (user.team !== team) return undefined
    return typeof people === 'function' ? await people(user) : own(people, user.id)
  }

  async #askWhy(
    target: SlackTarget,
    place: SlackPlace,
    triggerId: string,
  ): Promise<{ readonly refusal: string } | undefined> {
    const view = reasonForm(target, place)
    try {
      await this.#call('views.open', { trigger_id: triggerId, view })
      return undefined
    } catch (thrown) {
      this.#settings.onError(thrown)
      return { refusal: 'Slack did not open the form. Nothing was decided; press the button again.' }
    }
  }

  async #decide(
    { runtime, run }: ProtocolContext,
    { name: approver }: Principal,
    {
      target: { approvalId, inputHash, run: runId },
      place,
      verb: decision,
      comment,
    }: {
      readonly target: SlackTarget
      readonly place: SlackPlace
      readonly verb: SlackVerb
      readonly comment: string | undefined
    },
  ): Promise<{ readonly refusal: string } | undefined> {
    const [asked] = approvalsAmong(await runtime.questions({ id: approvalId }))
    const said = { approvalId, decision, approver, inputHash, ...(comment === undefined ? undefined : { comment }) }
    try {
      await runtime.decide(said)
    } catch (thrown) {
      if (!isClosed(thrown)) throw thrown
      // somebody was first, or it is over: the message says so from now on
      const found = await run(runId).catch(() => undefined)
      const closed = (await found?.view())?.approvals.find((each) => each.id === approvalId)
      // there is no such run for them: no more is said than that
      if (closed?.resolution === undefined) throw thrown
      const { resolution, approver: by, comment: why, resolvedAt = systemClock.now() } = closed
      const ending: SlackEnding = {
        type: 'resolved',
        resolution,
        ...(by === undefined ? undefined : { approver: by }),
        ...(why === undefined ? undefined : { comment: why }),
      }
      this.#show(place, noticeOf(closed, runId as Notice['run']), ending, resolvedAt)
      if (by === approver && resolution === (decision === 'approve' ? 'approved' : 'rejected')) return undefined
      throw thrown
    }
    if (asked !== undefined) {
      const ending: SlackEnding = {
        type: 'decided',
        decision,
        approver,
        ...(comment === undefined ? undefined : { comment }),
      }
      this.#show(place, noticeOf(asked, asked.run), ending, systemClock.now())
    }
    return undefined
  }

  /** Updates the message, behind the answer. */
  #show(place: SlackPlace, notice: Notice, ending: SlackEnding, at: number): void {
    const { shownAt, onError } = this.#settings
    const body = { ...place, ...settledMessage(notice, ending, at, shownAt(notice)) }
    updateMessage(this.#settings, body, AbortSignal.timeout(toleranceMs)).catch(onError)
  }

  /** Says it to one person alone. */
  async #tell({ id }: SlackUser, { channel }: SlackPlace, text: string): Promise<void> {
    try {
      await this.#call('chat.postEphemeral', { channel, user: id, ...personalMessage(text) })
    } catch (thrown) {
      this.#settings.onError(thrown)
    }
  }

  #call(method: 'views.open' | 'chat.postEphemeral', body: JsonObject): Promise<JsonObject> {
    const { api, timeoutMs } = this.#settings
    return api(method, body, AbortSignal.timeout(Math.min(timeoutMs, answerMs)))
  }
}

const isClosed = (thrown: unknown): boolean =>
  (['approval.already-decided', 'approval.expired', 'approval.unknown'] as const).some((code) =>
    ReeveError.is(thrown, code),
  )
