/**
 * Own team: the team as the code of a leader receives it.
 *
 * Owns: its form. Does not own: how it does what it says (code-supervisor.ts).
 */
import type { Failure, FilePart, Json, Outcome } from '@reeve/core'
import type { Agent, AgentContext, HandoffContext, InputOf, NameOf, OutputOf } from '@reeve/agent'

/** The result of a delegation by code. */
export interface DelegationResult<O = Json> {
  readonly worker: string
  /** `d1` for the first, `d2` for the second, … in the order of the calls. */
  readonly delegation: string
  /** The worker's outcome. A worker that never began has failed, and the failure says why. */
  readonly outcome: Outcome<O>
  /**
   * The result as text, as a model in the leader's place would see it; `onComplete` may have replaced it. Never empty.
   */
  readonly text: string
  /** What a model in the leader's place would see besides: feedback of `onComplete`, questions of the worker. */
  readonly feedback?: string
}

/** Options of one delegation. */
export interface TeamDelegateOptions {
  /** The limit of turns for the worker. Never more than its definition allows. */
  readonly turns?: number
  /** Files that the worker sees with its brief. At most 100, and 32 Mi characters of base64. Default: none. */
  readonly files?: readonly FilePart[]
}

type WorkerNamed<Worker extends Agent, Name> = Extract<Worker, { readonly name: Name }>

/** The team of a leader that is code. */
export interface OwnTeam<Worker extends Agent = Agent> {
  /** The members of the team, in the order in which they joined. */
  readonly names: readonly NameOf<Worker>[]
  /**
   * Gives a worker a brief and waits for its outcome, under everything that `delegation` says: hooks, filters, slots.
   * Several may run at once. A worker that fails or is refused is an outcome; only `Cancelled` rejects. Await every
   * call: work still pending when the code ends is stopped and ends `cancelled` before the leader does, `onComplete`
   * receives its end, and the journal names it (`fact.noted`, `delegations.left`). If `onComplete` bails, the call
   * still resolves, later delegations are refused, and the supervisor ends `bailed`, whatever the code returns.
   */
  delegate<const Name extends NameOf<Worker>>(
    worker: Name,
    brief: InputOf<WorkerNamed<Worker, Name>>,
    options?: TeamDelegateOptions,
  ): Promise<DelegationResult<OutputOf<WorkerNamed<Worker, Name>>>>
  /**
   * The output of a worker, to be returned unchanged; records that it was forwarded. A worker's name means its last
   * output in the order of the calls; a label such as `d1` means one delegation. Throws `work.rejected` if there is no
   * output.
   */
  forward<const Name extends NameOf<Worker>>(worker: Name): OutputOf<WorkerNamed<Worker, Name>>
  forward(delegation: `d${number}`): Json
  /** Adds a specialist to the team for the rest of this run. A failure says why not. */
  recruit(worker: NameOf<Worker>, reason: string): Failure | undefined
}

/** The team for Reeve's own leaders, which also need to know whether a hook has ended the work. */
export interface LeaderTeam extends OwnTeam {
  readonly bailed: Outcome | undefined
}

/** The function of a leader that is code. */
export type LeaderFunction = (
  ctx: AgentContext,
  brief: unknown,
  team: LeaderTeam,
  handoffContext: HandoffContext,
) => unknown
