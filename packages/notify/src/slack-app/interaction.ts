/**
 * What Slack posts when somebody presses a button or sends the form.
 *
 * Owns: reading it. Pure. Does not own: whether it is Slack's (slack-signature.ts), what follows (slack-app.ts).
 * Holds: own members of a JSON document alone, each of its type; anything else is nothing of this app's.
 */
import { isObject, own, readJson, type Json } from '@reeve/core'
import { targetIn, type SlackPlace, type SlackTarget, type SlackVerb } from './slack-message.ts'

/** Who pressed it. `team`: their workspace, which need not be that of the channel. */
export interface SlackUser {
  readonly id: string
  readonly team: string
}

/** A press of a button, or the sent form. */
export type SlackInteraction =
  | {
      readonly type: 'button'
      readonly verb: SlackVerb
      readonly user: SlackUser
      readonly target: SlackTarget
      readonly place: SlackPlace
      readonly triggerId: string
    }
  | {
      readonly type: 'reason'
      readonly user: SlackUser
      readonly target: SlackTarget
      readonly place: SlackPlace
      readonly reason: string
    }
  /** Slack's own, or of another part of the app: it is answered, and nothing is done. */
  | { readonly type: 'other' }

const other: SlackInteraction = { type: 'other' }
const textOf = (given: unknown): string => (typeof given === 'string' ? given : '')
const member = (given: unknown, ...path: readonly string[]): Json | undefined =>
  path.reduce<unknown>((at, name) => (isObject(at) ? own(at, name) : undefined), given) as Json | undefined

/** The interaction in the body of a request; undefined for what is no such document. */
export function interactionIn(body: string): SlackInteraction | undefined {
  const read = readJson(new URLSearchParams(body).get('payload') ?? '')
  if (!read.ok || !isObject(read.value)) return undefined
  const payload = read.value
  const user = {
    id: textOf(member(payload, 'user', 'id')),
    team: textOf(member(payload, 'user', 'team_id')) || textOf(member(payload, 'team', 'id')),
  }
  if (user.id === '') return other
  if (payload['type'] === 'block_actions') return pressed(payload, user)
  if (payload['type'] === 'view_submission') return sent(payload, user)
  return other
}

function pressed(payload: Json, user: SlackUser): SlackInteraction {
  const actions = member(payload, 'actions')
  const [action] = Array.isArray(actions) ? (actions as readonly Json[]) : []
  const verb = { 'reeve:approve': 'approve', 'reeve:reject': 'reject' }[textOf(member(action, 'action_id'))]
  const target = targetIn(textOf(member(action, 'value')))
  const place = {
    channel: textOf(member(payload, 'container', 'channel_id')),
    ts: textOf(member(payload, 'container', 'message_ts')),
  }
  if ((verb !== 'approve' && verb !== 'reject') || target === undefined || place.channel === '' || place.ts === '')
    return other
  return { type: 'button', verb, user, target, place, triggerId: textOf(member(payload, 'trigger_id')) }
}

function sent(payload: Json, user: SlackUser): SlackInteraction {
  const target = targetIn(textOf(member(payload, 'view', 'private_metadata')))
  if (member(payload, 'view', 'callback_id') !== 'reeve:reason' || target === undefined) return other
  const { channel, ts, ...about } = target
  if (channel === undefined || ts === undefined) return other
  const reason = textOf(member(payload, 'view', 'state', 'values', 'reason', 'text', 'value'))
  return { type: 'reason', user, target: about, place: { channel, ts }, reason }
}
