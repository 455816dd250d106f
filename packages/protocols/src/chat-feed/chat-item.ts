/**
 * What is shown of a run to people who chat with it: texts, thoughts, calls, approvals, questions, workers.
 *
 * Owns: these types; what a change of them does to what was shown before. Does not own: how they are found
 * (chat-fold.ts), how a protocol says them (the adapters of chat protocols).
 */
import type { Json, JsonObject } from '@reeve/core'

/** A worker, as one line that changes. */
export interface ChatWorker {
  /** Of its activation. */
  readonly id: string
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /** `running`, `waiting` for a person, or how it ended. */
  readonly status: string
  /** What it said last, at most 20,000 characters of it; empty before it says something. */
  readonly text: string
}

/** One thing that is shown. Those of one id (`block`, `call`, `worker.id`) belong together. */
export type ChatItem =
  /** An agent in control begins a turn. */
  | { readonly type: 'turn' }
  /** A piece of a text or a thought of an agent in control. */
  | { readonly type: 'text' | 'reasoning'; readonly block: string; readonly text: string }
  | { readonly type: 'block-end'; readonly block: string }
  /** A file that an agent in control made: a `data:` URL, or the address of the provider. */
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  /** A page of the web that an answer is taken from. */
  | { readonly type: 'source'; readonly source: string; readonly url: string; readonly title?: string }
  /** A tool is called by an agent in control, or by any agent if a person has to approve it or the client to run it. */
  | {
      readonly type: 'call'
      readonly call: string
      readonly tool: string
      readonly input: Json
      readonly path: readonly string[]
      /** The client runs it: the id of the question that takes what came of it. */
      readonly question?: string
    }
  | { readonly type: 'result'; readonly call: string; readonly output: Json; readonly isError?: true }
  /** A person refused the call: it did not run. */
  | { readonly type: 'denied'; readonly call: string }
  | { readonly type: 'approval'; readonly approval: string; readonly call: string; readonly reason: string }
  | {
      readonly type: 'decided'
      readonly approval: string
      readonly call: string
      readonly approved: boolean
      readonly comment?: string
    }
  | {
      readonly type: 'question'
      readonly question: string
      readonly asks: Json
      readonly path: readonly string[]
      readonly schema?: JsonObject
    }
  /** A question is not open any more: it was answered, or its agent has ended. */
  | { readonly type: 'answered'; readonly question: string }
  | { readonly type: 'worker'; readonly worker: ChatWorker }

/** A change of what is shown. `position`: of the event in the feed of the run that brought it, or that came before it. */
export type ChatChange =
  | { readonly type: 'show'; readonly position: number; readonly item: ChatItem }
  /** These blocks are of an attempt that failed: another one follows, and they were never said. */
  | { readonly type: 'withdraw'; readonly position: number; readonly blocks: readonly string[] }

/** What is shown after a change: in place. Pieces of one block are joined, and so are the lines of a worker. */
export function applyChange(all: ChatChange[], change: ChatChange): void {
  if (change.type === 'withdraw') {
    const gone = new Set(change.blocks)
    const kept = all.filter((each) => each.type === 'withdraw' || !('block' in each.item) || !gone.has(each.item.block))
    all.splice(0, all.length, ...kept)
    return
  }
  const last = all.at(-1)
  const joined = last === undefined ? undefined : joinedChange(last, change)
  if (joined === undefined) all.push(change)
  else all[all.length - 1] = joined
}

/** Two changes in a row as one; undefined if they are not of one text or one worker. */
export function joinedChange(last: ChatChange, next: ChatChange): ChatChange | undefined {
  if (last.type !== 'show' || next.type !== 'show') return undefined
  const [a, b] = [last.item, next.item]
  if (a.type === 'worker' && b.type === 'worker') return a.worker.id === b.worker.id ? next : undefined
  const isPiece = (a.type === 'text' && b.type === 'text') || (a.type === 'reasoning' && b.type === 'reasoning')
  if (!isPiece || a.block !== b.block) return undefined
  return { ...next, item: { ...b, text: a.text + b.text } }
}
