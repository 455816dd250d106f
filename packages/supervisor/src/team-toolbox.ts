/**
 * Team toolbox: the team of one activation of a supervisor: its members, its delegations, the tools of the next turn.
 *
 * Owns: the roster of one run (from the edge, plus recruits), the toolbox made of it. Does not own: the roster of the
 * definition (roster.ts). Lives in memory; replay rebuilds it from the same calls (K3). Specs change only when a member
 * joins, never per turn.
 */
import { failure, type Failure, type FilePart } from '@reeve/core'
import type { Background, Binding, CallResult, Toolbox } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import type { VerbNames } from './delegation/options.ts'
import {
  Delegations,
  type DelegationRequest,
  type LeaderState,
  type DelegationPosition,
  type SharedDelegation,
  type Worker,
} from './delegation/delegations.ts'
import { dispositionOf, type Disposition } from './delegation/dispatch.ts'
import { ReadBinding } from './delegation/references.ts'
import type { LeaderPolicy } from './leader.ts'
import { describeWorker } from './roster.ts'
import { DelegateBinding, SeveralBinding, TypedDelegateBinding } from './delegate-tools.ts'
import { ForwardBinding, RecruitBinding, StopBinding, type TeamAccess, type VerbSpecs } from './leader-tools.ts'

export class TeamToolbox implements Toolbox, TeamAccess {
  readonly delegations: Delegations
  readonly #policy: LeaderPolicy
  readonly #defers: boolean
  readonly #names: string[]
  #bindings = new Map<string, Binding>()
  #specs: readonly ToolSpec[] = []
  #stale = true
  /** Whether the tools are those of a leader that has files to give. */
  #givesFiles = false
  readonly files: ReadonlyMap<string, FilePart>

  /**
   * `defers`: its leader can be told of the ends of background work, where a worker may do any. `files`: those of its
   * conversation, which grow with it.
   */
  constructor(
    policy: LeaderPolicy,
    names: readonly string[],
    defers = false,
    files: ReadonlyMap<string, FilePart> = new Map(),
  ) {
    this.#policy = policy
    this.files = files
    this.#defers = defers && mayDefer(policy)
    this.#names = [...names]
    const { name, delegation = {}, concurrency } = policy.options
    this.delegations = new Delegations(name, delegation, concurrency, policy.verbs, policy.access)
  }

  get verbs(): VerbNames {
    return this.#policy.verbs
  }

  get verbSpecs(): VerbSpecs {
    return this.#policy.verbSpecs
  }

  /** The members of the team, in the order in which they joined. */
  get names(): readonly string[] {
    return this.#names
  }

  get typed(): readonly string[] {
    return this.#names.filter((name) => this.#policy.roster.find(name)?.inputSchema !== undefined)
  }

  /** The tools. The same list until a member joins, or the first file comes. */
  get specs(): readonly ToolSpec[] {
    if (this.#stale || (!this.#givesFiles && this.files.size > 0)) this.#make()
    return this.#specs
  }

  find(name: string): Binding | undefined {
    return this.#bindings.get(name)
  }

  #make(): void {
    const { roster, tools, output, options } = this.#policy
    this.#givesFiles = this.files.size > 0
    const typed = this.typed
    const plain = this.#names.filter((name) => !typed.includes(name))
    const absent = roster.specialists.map((agent) => agent.name).filter((name) => !this.#names.includes(name))
    this.verbSpecs.of([this.#defers, this.#givesFiles, ...this.#names, ...this.#names.map((name) => roster.find(name))])
    const bindings: Binding[] = [...tools]
    if (plain.length > 0) bindings.push(new DelegateBinding(this, plain))
    for (const name of typed) bindings.push(new TypedDelegateBinding(this, name, roster.find(name)))
    if (this.#names.length > 0) bindings.push(new ForwardBinding(this, output))
    const { shown } = this.delegations
    if (shown !== undefined)
      bindings.push(new ReadBinding(this.verbs.readResult, shown, (ref) => this.delegations.find(ref)))
    if (options.delegation?.several === true && plain.length > 0) bindings.push(new SeveralBinding(this, plain))
    if (this.#names.some((name) => this.disposition(name) !== undefined)) bindings.push(new StopBinding(this))
    if (roster.specialists.length > 0) bindings.push(new RecruitBinding(this, absent))
    // providers refuse an empty list of choices, so the last recruit removes the verb from the list, but not from the
    // toolbox
    this.#specs = this.verbSpecs.offered(() =>
      bindings
        .filter((binding) => !(binding instanceof RecruitBinding && absent.length === 0))
        .map((binding) => binding.spec),
    )
    this.#bindings = new Map(bindings.map((binding) => [binding.spec.name, binding]))
    this.#stale = false
  }

  delegate(
    ctx: Context,
    call: ToolCall,
    state: LeaderState,
    request: DelegationRequest,
    place: DelegationPosition,
  ): Promise<CallResult> {
    return this.delegations.run(ctx, call, state, this.#worker(request.worker), request, place, this.#worker)
  }

  several(
    names: readonly string[],
    shared: Omit<SharedDelegation, 'workers'>,
    place: DelegationPosition,
  ): Promise<CallResult> {
    return this.delegations.several({ ...shared, workers: names.map((name) => this.#worker(name)) }, place)
  }

  /** The background work; undefined if no worker may work in the background. */
  get background(): Background | undefined {
    return this.#defers ? this.delegations.background : undefined
  }

  get givesFiles(): boolean {
    return this.#givesFiles
  }

  disposition(worker: string): Disposition | undefined {
    const { options, roster } = this.#policy
    return this.#defers
      ? dispositionOf(options.delegation ?? {}, worker, roster.find(worker)?.background === true)
      : undefined
  }

  readonly #worker = (name: string): Worker => this.#policy.roster.find(name) ?? { name }

  recruit(name: string): Failure | undefined {
    const { roster, options } = this.#policy
    const { maxTeamSize = 10 } = options
    const known = roster.specialists.map((agent) => agent.name)
    if (!known.includes(name))
      return failure(
        'delegation.unknown-worker',
        `unknown specialist "${name}". Specialists are: ${known.join(', ')}.`,
        'validation',
      )
    if (this.#names.includes(name)) return failure('delegation.refused', `"${name}" is on the team already`, 'policy')
    if (this.#names.length >= maxTeamSize)
      return failure('delegation.refused', `the team is full: ${maxTeamSize} is the most there may be`, 'policy')
    this.#names.push(name)
    this.#stale = true
    return undefined
  }

  describe(name: string): string {
    return describeWorker(name, this.#policy.roster.find(name))
  }

  /**
   * The team for the leader's model, one line each. Plain concatenation: braces and dollars in descriptions are plain
   * text.
   */
  lines(): string {
    return this.#names.map((name) => `- ${name}: ${this.describe(name)}`).join('\n')
  }
}

/** Whether some worker may work in the background. */
const mayDefer = ({ options: { delegation: { background, workers } = {} }, roster }: LeaderPolicy): boolean =>
  background !== undefined ||
  (workers !== undefined && Object.values(workers).some((each) => each?.background !== undefined)) ||
  roster.everyWorker().some((worker) => worker.background === true)
