/**
 * The Web API of Slack: one method, once.
 *
 * Owns: what an answer of Slack means for another try. Does not own: when it is tried again (the engine: a step; or
 * message-updates.ts), what is sent (slack-message.ts).
 * Holds: the token is in a header alone, and in no failure. No redirect is followed.
 */
import { failure, FailureError, isObject, present, type Failure, type Json, type JsonObject } from '@reeve/core'
import { sendJson, type Fetch } from '../post.ts'

/** The methods that are used: each needs `chat:write` and nothing else. */
export type SlackMethod = 'chat.postMessage' | 'chat.update' | 'chat.postEphemeral' | 'views.open'

/** Calls a method. Rejects with a FailureError that says whether another try may help, and from when on. */
export type SlackApi = (method: SlackMethod, body: JsonObject, signal: AbortSignal) => Promise<JsonObject>

/** How Slack is reached. */
export interface SlackAccess {
  readonly token: string
  readonly apiUrl: string
  readonly fetch: Fetch | undefined
}

/** Makes the calls. */
export const slackApi =
  ({ token, apiUrl, fetch }: SlackAccess): SlackApi =>
  async (method, body, signal) => {
    const answer = await sendJson(
      {
        address: new URL(method, apiUrl).href,
        body: JSON.stringify(body),
        headers: { 'user-agent': 'reeve', authorization: `Bearer ${token}` },
        type: 'application/json; charset=utf-8',
        fetch,
      },
      signal,
    )
    const said = await jsonOf(answer, method)
    if (said['ok'] === true) return said
    throw new FailureError(refusalOf(method, said))
  }

/** An answer of Slack is small: one that is not is none of Slack's. Characters. */
const longestAnswer = 2_000_000

async function jsonOf(answer: Response, method: SlackMethod): Promise<JsonObject> {
  let said: Json
  try {
    const text = await answer.text()
    said = text.length > longestAnswer ? null : (JSON.parse(text) as Json)
  } catch {
    said = null
  }
  if (isObject(said)) return said
  throw new FailureError(failure('notice.failed', `Slack answered ${method} with no JSON`, 'transport'))
}

/** Errors of Slack after which the same call may work. */
const passing: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
])

/** What an operator does about an error of Slack. */
const hints: Readonly<Record<string, string>> = {
  account_inactive: 'Install the app again, and give slackApp its new token.',
  channel_not_found: 'Check channel of slackApp: an id such as C0123456789. Invite the app to it.',
  invalid_auth: 'Check token of slackApp.',
  is_archived: 'The channel is archived: name another one.',
  missing_scope: 'The app needs the scope chat:write: install it again with it.',
  not_authed: 'Check token of slackApp.',
  not_in_channel: 'Invite the app to the channel.',
  token_expired: 'Give slackApp a token that holds.',
  token_revoked: 'Install the app again, and give slackApp its new token.',
}

function refusalOf(method: SlackMethod, said: JsonObject): Failure {
  const code = typeof said['error'] === 'string' && /^\w{1,80}$/.test(said['error']) ? said['error'] : 'unknown_error'
  const what = `Slack refused ${method}: ${code}`
  const details = { error: code }
  if (code === 'ratelimited' || code === 'rate_limited')
    return failure('notice.failed', what, 'rate-limit', { details })
  if (passing.has(code)) return failure('notice.failed', what, 'transport', { details })
  const hint = Object.hasOwn(hints, code) ? hints[code] : undefined
  return failure('notice.failed', what, 'validation', { details, ...present({ hint }) })
}
