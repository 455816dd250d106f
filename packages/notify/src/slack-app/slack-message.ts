/**
 * Messages of the Slack app: an approval with its buttons, what became of it, the question for a reason.
 *
 * Owns: their blocks, which stay within Slack's bounds; when there are buttons. Does not own: the words
 * (../rendered-notice.ts), the escape (../slack-text.ts), what a button does (slack-app.ts). Pure.
 * Holds: what is not shown whole is not approved here: then there is no button for it.
 */
import { cut, isObject, present, readJson, visibleJson, visibleLine, type Json, type JsonObject } from '@reeve/core'
import type { Notice } from '@reeve/oversight'
import type { ApprovalView } from '@reeve/runtime'
import { renderNotice } from '../rendered-notice.ts'
import { codePieces, escaped, marked, plain, unlinked, within } from '../slack-text.ts'

/** What a button says. */
export type SlackVerb = 'approve' | 'reject'

/** What a button or a form is about. */
export interface SlackTarget {
  readonly approvalId: string
  /** Of the arguments that the message shows. */
  readonly inputHash: string
  readonly run: string
}

/** A message, and where it is. */
export interface SlackPlace {
  readonly channel: string
  readonly ts: string
}

/** What is sent of a message beside its place. */
export interface SlackMessage extends JsonObject {
  readonly text: string
  readonly blocks: readonly JsonObject[]
}

/** What became of an approval. */
export type SlackEnding =
  | ({ readonly type: 'resolved'; readonly resolution: NonNullable<ApprovalView['resolution']> } & {
      readonly approver?: string
      readonly comment?: string
    })
  /** Decided; its run has not read it yet. */
  | { readonly type: 'decided'; readonly decision: SlackVerb; readonly approver: string; readonly comment?: string }
  /** The work that asked has ended without a decision. */
  | { readonly type: 'over' }

/** Of the blocks of one message, in characters, and how many hold arguments. Slack: 3,000 and 50. */
const [codeMost, codeBlocks, buttonValueMost] = [2_900, 8, 2_000]

/** The blocks that say what is asked, and whether all arguments are in them. */
function askedBlocks(notice: Notice): { readonly blocks: readonly JsonObject[]; readonly isWhole: boolean } {
  const { title, reason, facts } = renderNotice(notice)
  const pieces = codePieces(visibleJson(notice.input, 2), codeMost, codeBlocks)
  const shown = pieces ?? codePieces(cut(visibleJson(notice.input, 2), codeMost / 6), codeMost, 1) ?? []
  return {
    isWhole: pieces !== undefined,
    blocks: [
      { type: 'header', text: plain(cut(title, 150)) },
      // an empty text is refused
      ...(reason.trim() === '' ? [] : [{ type: 'section', text: plain(cut(reason, 2_900)) }]),
      { type: 'section', fields: facts.slice(0, 10).map(([name, value]) => plain(cut(`${name}: ${value}`, 1_900))) },
      ...shown.map((each) => ({ type: 'section', text: marked(each) })),
    ],
  }
}

const small = (text: string): JsonObject => ({ type: 'context', elements: [plain(cut(text, 1_900))] })
const lookAt = (address: string | undefined): readonly JsonObject[] =>
  address === undefined
    ? []
    : [{ type: 'context', elements: [marked(`<${escaped(address.replaceAll('|', '%7C'))}|Look at the run>`)] }]

/** For notifications, and where no blocks are shown. Slack reads it as markup. */
const textOf = (title: string): string => within(unlinked(title), 300)

/** A notice as a message: of an approval with the buttons that decide it. `address`: of a page that shows. */
export function openMessage(notice: Notice, address: string | undefined): SlackMessage {
  const { title, commands } = renderNotice(notice)
  const { blocks, isWhole } = askedBlocks(notice)
  const buttons = notice.type === 'approval' ? buttonsOf(notice, isWhole) : []
  const elsewhere = `In a shell: ${commands.join('   ')}`
  return {
    text: textOf(title),
    blocks: [
      ...blocks,
      ...(buttons.length === 0 ? [] : [{ type: 'actions', block_id: 'reeve', elements: buttons }]),
      ...(isWhole ? [] : [small('The arguments are too long for Slack. Approve it where all of them are shown.')]),
      small(elsewhere),
      ...lookAt(address),
    ],
  }
}

function buttonsOf({ id, run, inputHash, options, risk }: Notice, isWhole: boolean): readonly JsonObject[] {
  if (inputHash === undefined) return []
  const value = JSON.stringify({ approvalId: id, inputHash, run } satisfies SlackTarget)
  const isOffered = (verb: SlackVerb): boolean => options?.includes(verb) ?? true
  if (value.length > buttonValueMost) return []
  const button = (verb: SlackVerb, text: string, style: string, more: JsonObject = {}): JsonObject => ({
    type: 'button',
    action_id: `reeve:${verb}`,
    text: plain(text),
    style,
    value,
    ...more,
  })
  const sure = { confirm: confirmOf(risk ?? 'medium') }
  return [
    ...(isWhole && isOffered('approve')
      ? [button('approve', 'Approve', 'primary', risk === 'high' || risk === 'critical' ? sure : {})]
      : []),
    ...(isOffered('reject') ? [button('reject', 'Reject…', 'danger')] : []),
  ]
}

const confirmOf = (risk: string): JsonObject => ({
  title: plain('Approve it?'),
  text: plain(`The risk is ${risk}. It runs with exactly the arguments in the message.`),
  confirm: plain('Approve'),
  deny: plain('Back'),
})

const resolutions: Readonly<Record<NonNullable<ApprovalView['resolution']>, string>> = {
  approved: 'Approved',
  rejected: 'Rejected',
  retry: 'Sent back to be changed and tried again',
  'timed-out-rejected': 'Rejected: nobody decided in time',
  'timed-out-approved': 'Approved: nobody decided in time',
  edited: 'Approved with other arguments',
  cancelled: 'Not needed any more: the run was cancelled',
  escalated: 'Nobody decided in time: the next approvers are asked',
  seconded: 'Approved; a second approver is needed',
  ignored: 'That decision did not count: it is asked again',
}

/** What became of it, in a line. */
function endingText(ending: SlackEnding): string {
  if (ending.type === 'over') return 'Not needed any more: the work that asked has ended'
  const what =
    ending.type === 'resolved'
      ? resolutions[ending.resolution]
      : ending.decision === 'approve'
        ? 'Approved'
        : 'Rejected'
  const { approver, comment } = ending
  return `${what}${approver === undefined ? '' : ` by ${visibleLine(approver)}`}${comment === undefined || comment === '' ? '' : `: ${visibleLine(comment)}`}`
}

/** The same message without buttons, once it is decided or over. `at`: milliseconds since 1970. */
export function settledMessage(notice: Notice, ending: SlackEnding, at: number, address?: string): SlackMessage {
  const said = cut(endingText(ending), 2_800)
  return {
    text: textOf(`${notice.title}: ${said}`),
    blocks: [
      ...askedBlocks(notice).blocks,
      { type: 'section', text: plain(said) },
      small(new Date(at).toISOString().slice(0, 19).replace('T', ' ') + ' UTC'),
      ...lookAt(address),
    ],
  }
}

/** What is said to one person alone. */
export const personalMessage = (text: string): SlackMessage => ({
  text: textOf(text),
  blocks: [{ type: 'section', text: plain(cut(visibleLine(text), 2_900)) }],
})

/** The form that asks why it is rejected. */
export const reasonForm = (target: SlackTarget, place: SlackPlace): JsonObject => ({
  type: 'modal',
  callback_id: 'reeve:reason',
  private_metadata: JSON.stringify({ ...target, ...place }),
  title: plain('Reject it'),
  submit: plain('Reject'),
  close: plain('Back'),
  blocks: [
    {
      type: 'input',
      block_id: 'reason',
      optional: true,
      label: plain('Why? The agent reads it.'),
      element: { type: 'plain_text_input', action_id: 'text', multiline: true, max_length: 2_000 },
    },
  ],
})

/** What a button or a form carries; undefined for anything else. */
export function targetIn(text: string): (SlackTarget & Partial<SlackPlace>) | undefined {
  const read = readJson(text)
  if (!read.ok || !isObject(read.value)) return undefined
  const { approvalId, inputHash, run, channel, ts } = read.value
  const isText = (each: Json | undefined): each is string => typeof each === 'string' && each !== ''
  if (!isText(approvalId) || !isText(inputHash) || !isText(run)) return undefined
  return { approvalId, inputHash, run, ...(isText(channel) && isText(ts) ? { channel, ts } : undefined) }
}

/** The notice of an approval as a run's view or its question has it. */
export function noticeOf(
  asked: Pick<
    ApprovalView,
    | 'id'
    | 'path'
    | 'tool'
    | 'reason'
    | 'input'
    | 'inputHash'
    | 'risk'
    | 'kind'
    | 'task'
    | 'context'
    | 'hits'
    | 'approvers'
    | 'excludes'
    | 'options'
    | 'askedAt'
    | 'until'
    | 'follows'
    | 'delegation'
    | 'brief'
  >,
  run: Notice['run'],
): Notice {
  const { id, path, tool, reason, input, inputHash, risk, askedAt, delegation, brief } = asked
  const { kind, task, context, hits, approvers, excludes, options, until, follows } = asked
  const work = present({ delegation, brief })
  return {
    type: 'approval',
    id,
    run,
    path,
    title: `${path.join(' > ')} asks for approval of ${tool}`,
    text: reason,
    input,
    inputHash,
    risk,
    askedAt,
    ...present({ kind, task, context, hits, approvers, excludes, options, until, follows }),
    ...(Object.keys(work).length === 0 ? undefined : { work }),
  }
}
