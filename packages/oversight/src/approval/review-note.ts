/**
 * Review note: what an approver has changed, and why, in words for the model that asked.
 *
 * Owns: the sentences, and how words of a person stand in sentences of Reeve. Pure. Does not own: refusals (refusal.ts),
 * where a note is recorded and shown (../../agent/approval, ../../journal/views/transcript.ts).
 * Holds: a person's words are quoted, bounded and on one line, with everything visible: they cannot pass for a sentence
 * of Reeve, whatever is in them.
 */
import { cut, visibleJson, type Json } from '@reeve/core'
import type { ApprovedVerdict } from './decision.ts'

/** The longest comment, and the longest arguments, that are told. Characters. */
const commentMost = 2_000
const inputMost = 4_000

/** A person's words between quotation marks. */
export const quotedComment = (comment: string): string => visibleJson(cut(comment, commentMost))

/**
 * A person's words at the end of a sentence: as they are where nothing in them could be taken for more than words, else
 * quoted.
 */
export const shownComment = (comment: string): string => (plainComment.test(comment) ? comment : quotedComment(comment))

/** One line of at most 400 characters, without what sentences of Reeve begin and end with. */
const plainComment = /^(?!["\s])[^[\]\p{C}\p{Zl}\p{Zp}]{1,400}$/u

/** What was approved. `ran`: what it runs with, where that was changed; absent: what follows the note is it. */
export interface ReviewedProposal {
  /** `this call`, `this work`, … */
  readonly what: string
  readonly ran?: Json
}

/** Undefined: a person has neither changed it nor said anything, or no person has decided. */
export function reviewNote(
  { what, ran }: ReviewedProposal,
  { by, edited, approver, comment }: Pick<ApprovedVerdict, 'by' | 'edited' | 'approver' | 'comment'>,
): string | undefined {
  const said = comment === undefined || comment.trim() === '' ? undefined : quotedComment(comment)
  if (!edited && (by !== 'human' || said === undefined)) return undefined
  const who = approver === undefined ? 'a person' : `a person (${quotedComment(approver)})`
  if (!edited) return `${who} approved ${what}, with the comment ${said}`
  const why = said === undefined ? 'without a comment' : `with the comment ${said}`
  if (ran === undefined) return `${who} changed ${what}, ${why}. As changed it is`
  return `${who} changed ${what} before it ran, ${why}. It ran with this instead: ${cut(visibleJson(ran), inputMost)}`
}
