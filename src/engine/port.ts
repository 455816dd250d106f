/**
 * The Engine port: what a durable engine must offer so that teams run on it unchanged. The embedded engine is one, a distributed one another.
 *
 * Owns: the interface, its plain data, and what every engine says of the same mistake or does with the same post. The behaviour is pinned by the contract suite in `reeve/testing`.
 */
import {
  canonical,
  newId,
  ReeveError,
  rootActivation,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
  type Usage,
} from '../core/index.ts'
import type { ApprovalRequested, Caller, ForkEdit, InterruptRaised, JournalEvent, Recorded } from '../journal/index.ts'
import type { AccountLimits, Registry } from './context.ts'

/** A request to begin a run. The same `run` id twice begins it once. */
export interface StartRun {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly input: Json
  readonly caller?: Caller
  readonly limits?: AccountLimits
}

/** A request to fork a run. The same `to` twice forks it once. */
export interface ForkRun {
  /** The origin. It may be running or have ended; it is not touched. */
  readonly run: RunId
  /** A position of its feed: what is recorded up to it is copied. */
  readonly at: number
  readonly to: RunId
  readonly edit?: ForkEdit
  /** Keys of values that do not go over, whoever wrote them. */
  readonly forget?: readonly string[]
  readonly reason?: string
  readonly by?: string
}

/** How a run ended. */
export interface RunEnd {
  readonly outcome: Outcome
  readonly usage: Usage
}

/** `waiting`: everything inside waits for somebody outside. `human_control`: a human has taken it over. `stuck`: it needs an operator (diverged replay, missing agent). */
export type RunStatus = 'running' | 'waiting' | 'pausing' | 'paused' | 'human_control' | 'stuck' | Outcome['status']

/** One line about a run. */
export interface RunSummary {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly status: RunStatus
  readonly caller: Caller
  readonly createdAt: number
  readonly endedAt?: number
  /** Why it is stuck. */
  readonly reason?: string
}

/** An open question of a run, as those who may answer it see it. */
export interface Question {
  readonly id: string
  readonly kind: 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly run: RunId
  readonly activation: ActivationId
  readonly address: string
  readonly askedAt: number
  readonly until?: number
  /** The answer that counts is there, somebody's or the clock's; whoever asked has yet to read it. */
  readonly answered?: true
  /** The event that asked; for `in-doubt` and `diverged`: what is in doubt. */
  readonly body: ApprovalRequested | InterruptRaised | Json
}

/** What became of a post: taken, too late because somebody else was first, too late because nobody asks any more, or nobody there. */
export type PostResult = 'accepted' | 'lost' | 'closed' | 'unknown'

/** What may be posted from outside. */
export type Post =
  /** Answers a question. The first answer wins, from whichever process. */
  | { readonly type: 'answer'; readonly activation: ActivationId; readonly address: string; readonly outcome: Outcome }
  /** A message; `id` is its idempotency key. */
  | { readonly type: 'message'; readonly activation: ActivationId; readonly id: string; readonly body: Json }
  /**
   * An operator's command to a run. With `outcome` it ends as that says, and nothing is undone, also of those below it: a human has finished it. `activation`: not the whole run, but this one
   * in it; whoever waits for it hears that end as its own. A pause of the run goes on then.
   */
  | {
      readonly type: 'cancel'
      readonly run: RunId
      readonly activation?: ActivationId
      readonly reason: string
      readonly by?: string
      readonly outcome?: Outcome
    }
  | {
      readonly type: 'pause'
      readonly run: RunId
      readonly at: 'next' | 'now' | 'after-model' | 'after-tools'
      readonly withinMs?: number
      /** A human takes it over, also while it is paused: only a hand back lets it go on. */
      readonly takeover?: true
      readonly reason?: string
      readonly by?: string
      /** Its idempotency key. Default: every word counts. */
      readonly id?: string
    }
  /** `handBack`: of a run that a human has taken over, and of no other. */
  | {
      readonly type: 'resume'
      readonly run: RunId
      readonly handBack?: true
      readonly reason?: string
      readonly by?: string
      readonly id?: string
    }
  /** Says what became of an effect in doubt, or of a diverged address. */
  | {
      readonly type: 'settle-doubt'
      readonly activation: ActivationId
      readonly address: string
      readonly happened: boolean
      readonly value?: Json
      readonly by?: string
    }
  | {
      readonly type: 'settle-divergence'
      readonly activation: ActivationId
      readonly address: string
      readonly action: 'map' | 'execute' | 'drop'
      readonly to?: string
      readonly by?: string
    }

/** Which runs to list; newest first. */
export interface RunFilter {
  readonly status?: readonly RunStatus[]
  readonly agent?: string
  readonly limit?: number
}

/** An ephemeral piece of work in progress (K9), with the place it came from and the attempt it belongs to. */
export interface LivePart {
  readonly activation: ActivationId
  readonly address: string
  /** Grows when another process takes over: an effect that runs again there begins with its first attempt again. */
  readonly epoch: number
  readonly attempt: number
  readonly part: Json
}

/** Values of a stream, from outside of any run. */
export interface StreamValues {
  get(key: string): Promise<Json>
  /** `change` is pure and may be called again when another writer was faster, from whichever process. Returns the new value, when it is durable. */
  update(key: string, change: (value: Json) => Json): Promise<Json>
}

/** A durable engine. All methods may reject with a ReeveError of the `store.*` codes. */
export interface Engine {
  /** Begins a run. Resolves when it is durable. `created` is false if this id was begun before (with the same agent and input; else `run.conflict`). */
  start(request: StartRun): Promise<{ readonly created: boolean }>
  post(post: Post): Promise<PostResult>
  /** Resolves when the run has ended; at once if it has. Rejects with `run.unknown`. */
  outcome(run: RunId): Promise<RunEnd>
  summary(run: RunId): Promise<RunSummary | undefined>
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  questions(filter?: { readonly run?: RunId; readonly id?: string }): Promise<readonly Question[]>
  /** The feed of a run after `from` (a position; 0 = all), complete up to now. */
  read(run: RunId, from?: number): Promise<readonly Recorded[]>
  /** Resolves when the run may have something new after `from`, or has ended, or the signal is aborted. */
  changed(run: RunId, from: number, signal?: AbortSignal): Promise<void>
  /** Hears live parts of a run in this process; returns how to stop. Must return quickly and never throw. */
  listen(run: RunId, hear: (part: LivePart) => void): () => void
  /** The values of a stream: one that outlives runs (`reg_…`, `mem_…`, `trust_…`), or that of a session (`streamOf`). Throws `input.invalid` for another name. */
  stream(name: string): StreamValues
  /**
   * Begins a run with what another one has recorded up to a position; that one is not touched. Resolves when it is durable. `created` is false if this id was forked before (from the same
   * position with the same edit; else `run.conflict`). Rejects with `run.unknown` and `fork.invalid`.
   */
  fork(request: ForkRun): Promise<{ readonly created: boolean }>
  /** Removes an ended run and everything of it. Rejects with `run.conflict` while it is running. */
  remove(run: RunId): Promise<void>
  /** Begins to drive runs whose agents are in the registry, and goes on with those that were left. Resolves when it does; rejects if it cannot. */
  drive(registry: Registry): void | Promise<void>
  /** Stops driving and lets everything go. Runs stay as they are. Idempotent. */
  close(): Promise<void>
}

/** What every engine says of a run that it does not have. */
export const unknownRun = (run: string): ReeveError =>
  new ReeveError('run.unknown', `there is no run "${run}" in this store`, { hint: 'List the runs: reeve runs, or runtime.runs().' })

/** What every engine says of a run that cannot be removed. */
export const openRun = (run: string): ReeveError => new ReeveError('run.conflict', `run ${run} has not ended`, { hint: 'Cancel it first.' })

/** The same id again, with `input` as it would be recorded: fine if the run began with it, else the caller has made a mistake (`run.conflict`). */
export function mustBeSameStart(first: JournalEvent | undefined, { run, agent }: StartRun, input: Json): void {
  if (first?.type === 'activation.started' && first.agent === agent && canonical(first.input) === canonical(input)) return
  throw new ReeveError('run.conflict', `run ${run} exists already, with another agent or input`, {
    hint: 'Use a new run id, or the handle of the existing run.',
  })
}

/** To whom a post goes, what has to be there, and under which key it competes. */
export interface PostAddress {
  readonly target: 'run' | 'activation' | 'question'
  readonly to: ActivationId
  /** For `question`: its address. */
  readonly key: string
  /** For `question`: of which kinds. */
  readonly kinds?: readonly Question['kind'][]
}

/** A pause and a resume compete with nobody but themselves: each has a key of its own. */
export function addressOfPost(post: Post): PostAddress {
  switch (post.type) {
    case 'answer':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['approval', 'interrupt'] }
    case 'settle-doubt':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['in-doubt'] }
    case 'settle-divergence':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['diverged'] }
    case 'message':
      return { target: 'activation', to: post.activation, key: `msg:${post.id}` }
    case 'cancel':
      return { target: 'run', to: post.activation ?? rootActivation(post.run), key: '!cancel' }
    case 'pause':
    case 'resume':
      return {
        target: 'run',
        to: rootActivation(post.run),
        key: post.id === undefined ? newId(`!${post.type}`) : `!${post.type}:${post.id}`,
      }
  }
}
