/**
 * Versions of agents: revisions published as data over unchanged code, and the choice of revisions for a run.
 *
 * Owns: storing revisions, resolving a choice to a revision. Does not own: the content of a revision (../edge), its use
 * in a model agent (../agent), versions of code (registry.ts).
 * Holds: K1: revisions are on the stream `reg_agents`, which outlives runs; its keys are persistent format. The choice
 * is made once, at the start, and recorded in the root's edge, so it holds in the whole tree and in every process. V1:
 * a published revision never changes. V2: a revision is stored before anything refers to it.
 */
import { reachableAgents, type Agent } from '@reeve/agent'
import {
  canonical,
  choice,
  copy,
  described,
  expects,
  isObject,
  meantInstead,
  mustBeOptions,
  object,
  own,
  recordOf,
  ReeveError,
  refuseProblems,
  Slices,
  underName,
  type Check,
  type Clock,
  type Json,
  type RunId,
} from '@reeve/core'
import { revisionProblems, type Revision, type Revisions } from '@reeve/edge'
import type { RunFilter, RunSummary, StreamValues } from '@reeve/engine'
import { modelProblem, modelsOf, providerToolProblems, resolveModel } from '@reeve/model'

/** `draft`: for runs that ask for it; may still change. `published`: never changes. */
export type RevisionStatus = 'draft' | 'published'

/** A version of an agent: a name, or the newest of a status. Names of revisions go before versions of the code. */
export type VersionChoice = string | { readonly version: string } | { readonly status: RevisionStatus }

/** Choices by the name of the agent. */
export type VersionChoices = { readonly [agent: string]: VersionChoice }

/** A stored revision. */
export interface KeptRevision {
  readonly agent: string
  readonly status: RevisionStatus
  readonly revision: Revision
  /** The newest of its status, selected by `{ status }`. */
  readonly current: boolean
  readonly by?: string
  /** When it was last stored. */
  readonly at: number
}

/** The agents with revisions. */
const agentsKey = '$agents'

/** The revisions of one agent. */
interface Shelf {
  readonly versions: readonly string[]
  readonly published?: string
  readonly draft?: string
}

interface StoredRevisions {
  readonly revision: Revision
  readonly status: RevisionStatus
  readonly by?: string
  readonly at: number
}

const readShelf = (value: Json): Shelf => (isObject(value) ? (value as unknown as Shelf) : { versions: [] })
const readKept = (value: Json): StoredRevisions | undefined =>
  isObject(value) ? (value as unknown as StoredRevisions) : undefined

/** A run, and the versions that it began with. */
export interface VersionUse extends Pick<RunSummary, 'run' | 'agent' | 'status' | 'createdAt'> {
  /** The version of its agent's code. */
  readonly version: string
  /** The revision of each agent that it may reach, by name. Without an entry an agent works as its code says. */
  readonly revisions: { readonly [agent: string]: string }
}

/** Versions of agents, as an operator publishes them. */
export interface RuntimeVersions {
  /** The choices of this runtime, for runs whose start chooses nothing else. */
  readonly chosen: Chosen

  /**
   * Publishes a version of an agent: data over its code. By name alone: one that is kept already, a draft or an earlier
   * one. Runs that have begun go on as they began. Throws `agent.not-registered`, `input.invalid` for data that does
   * not fit, `version.conflict` for a published one that would change, `version.unknown` for an unknown name.
   */
  publish(agent: Agent | string, revision: Revision | string, options?: { readonly by?: string }): Promise<void>
  /**
   * Keeps a version of an agent to be tried: only runs that ask for it, or for drafts, use it. It may be kept again.
   * Throws as `publish` does.
   */
  draft(agent: Agent | string, revision: Revision, options?: { readonly by?: string }): Promise<void>
  /** All versions that are kept, drafts and earlier ones too. */
  revisions(filter?: { readonly agent?: string }): Promise<readonly KeptRevision[]>
  /** Of each agent the version that is published now. */
  published(): Promise<readonly KeptRevision[]>
  /**
   * The newest runs with the versions that they began with; a run keeps them to its end. By default 100 runs, at most
   * 1,000: of each its beginning is read. `after`: the last one of the page before. Throws `input.invalid`.
   */
  uses(filter?: Pick<RunFilter, 'agent' | 'status' | 'limit' | 'after'>): Promise<readonly VersionUse[]>
}

/** So many runs are looked at for the versions that they use, and at most. */
const usesShown = 100
const mostUses = 1_000

/** What the versions of a runtime are made of. */
interface VersionsAccess {
  readonly versions: () => Versions
  /** The name of a registered agent. Throws. */
  readonly known: (agent: string) => string
  readonly chosen: Chosen
  readonly runs: (filter: RunFilter) => Promise<readonly RunSummary[]>
  /** What a run was begun with. */
  readonly birthOf: (run: RunId) => Promise<Json>
}

/** The versions of one runtime. */
export function runtimeVersions({ versions, known, chosen, runs, birthOf }: VersionsAccess): RuntimeVersions {
  const keep = async (
    agent: Agent | string,
    revision: Revision | string,
    status: RevisionStatus,
    { by }: { readonly by?: string } = {},
  ): Promise<void> => {
    const named = typeof agent === 'string' ? agent : (agent as Agent | null | undefined)?.name
    const name = known(typeof named === 'string' ? named : described(agent))
    await versions().keep(name, revision, status, underName({ by }).by)
  }
  return {
    publish: (agent, revision, options) => keep(agent, revision, 'published', options),
    draft: (agent, revision, options) => keep(agent, revision, 'draft', options),
    revisions: async (filter = {}) => {
      mustBeOptions(filter, 'versions.revisions', 'input.invalid')
      const { agent } = filter
      const all = await versions().list()
      return agent === undefined ? all : all.filter((each) => each.agent === agent)
    },
    chosen,
    async uses(asked = {}) {
      mustBeOptions(asked, 'versions.uses', 'input.invalid')
      const { limit = usesShown, ...filter } = asked
      const found = await runs({ ...filter, limit: Math.min(limit, mostUses) })
      const uses: VersionUse[] = []
      const slices = new Slices()
      for (const { run, agent, version, status, createdAt } of found) {
        await slices.giveWay()
        const { revisions = {} } = resolvedIn(await birthOf(run))
        const named = Object.entries(revisions).map(([name, revision]) => [name, revision.version] as const)
        uses.push({ run, agent, version, status, createdAt, revisions: Object.fromEntries(named) })
      }
      return uses
    },
    published: async () => (await versions().list()).filter(({ status, current }) => status === 'published' && current),
  }
}

/** The revisions in a store. Every method may reject with `store.*`. */
export class Versions {
  readonly #values: StreamValues
  readonly #clock: Clock
  readonly #find: (name: string, version?: string) => Agent | undefined

  constructor(values: StreamValues, clock: Clock, find: (name: string, version?: string) => Agent | undefined) {
    this.#values = values
    this.#clock = clock
    this.#find = find
  }

  /** Stores a revision. With only a name, the stored revision of that name becomes the current one of its status. */
  async keep(agent: string, given: Revision | string, status: RevisionStatus, by: string | undefined): Promise<void> {
    const version = typeof given === 'string' ? given : given.version
    if (typeof given !== 'string') this.#mustFit(agent, given)
    await this.#values.update(`${agent}/${version}`, (value) => {
      const before = readKept(value)
      const revision = typeof given === 'string' ? before?.revision : given
      if (revision === undefined) throw unknownVersion(agent, version, [])
      if (
        before?.status === 'published' &&
        (status === 'draft' || canonical(before.revision as unknown as Json) !== canonical(revision as unknown as Json))
      )
        throw new ReeveError('version.conflict', `version "${version}" of "${agent}" is published and cannot change`, {
          hint: 'Publish the change under another name.',
        })
      if (before?.status === 'published') return value
      const kept: StoredRevisions = {
        revision: copy(revision as unknown as Json) as unknown as Revision,
        status,
        at: this.#clock.now(),
        ...(by === undefined ? undefined : { by }),
      }
      return kept as unknown as Json
    })
    await this.#values.update(agent, (value) => {
      const shelf = readShelf(value)
      const versions = shelf.versions.includes(version) ? shelf.versions : [...shelf.versions, version]
      const { draft, ...rest } = shelf
      const stays = draft === undefined || (draft === version && status === 'published') ? undefined : { draft }
      return { ...rest, ...stays, versions, [status]: version }
    })
    await this.#values.update(agentsKey, (value) => {
      const names: readonly Json[] = Array.isArray(value) ? value : []
      return names.includes(agent) ? names : [...names, agent]
    })
  }

  /** All revisions, by agent in the order in which they were first stored. */
  async list(): Promise<readonly KeptRevision[]> {
    const names = (await this.#values.get(agentsKey)) as readonly string[] | null
    const all: KeptRevision[] = []
    for (const agent of names ?? []) {
      const shelf = readShelf(await this.#values.get(agent))
      for (const version of shelf.versions) {
        const kept = readKept(await this.#values.get(`${agent}/${version}`))
        if (kept !== undefined) all.push({ agent, ...kept, current: shelf[kept.status] === version })
      }
    }
    return all
  }

  /** Resolves choices for a run of this agent. Reads nothing for agents without a choice. */
  async resolve(root: Agent, { versions: choices = {}, defaultStatus: otherwise }: Chosen): Promise<Resolved> {
    const revisions: { [agent: string]: Revision } = {}
    const unknown: UnknownVersion[] = []
    for (const { name } of reachableAgents([root])) {
      const choice = own(choices, name)
      const found =
        choice === undefined ? otherwise && (await this.#current(name, otherwise)) : await this.#chosen(name, choice)
      const used = found === undefined ? undefined : this.#based(name, found)
      if (used !== undefined) revisions[name] = used
      else if (choice !== undefined && !asksForPublished(choice))
        unknown.push(await this.#missing(name, asksFor(choice)))
    }
    return { ...(Object.keys(revisions).length === 0 ? undefined : { revisions }), unknown }
  }

  /** The version of this name, kept or of the code. Throws `version.unknown`. */
  async named(agent: string, version: string): Promise<Revision> {
    const found = await this.#chosen(agent, version)
    const used = found === undefined ? undefined : this.#based(agent, found)
    if (used !== undefined) return used
    const { known } = await this.#missing(agent, version)
    throw unknownVersion(agent, version, known)
  }

  async #chosen(agent: string, choice: VersionChoice): Promise<Revision | undefined> {
    if (typeof choice !== 'string' && 'status' in choice) return this.#current(agent, choice.status)
    const version = asksFor(choice)
    const kept = readKept(await this.#values.get(`${agent}/${version}`))
    return kept?.revision ?? (this.#find(agent, version) === undefined ? undefined : { version, base: version })
  }

  /** The newest revision of a status; a choice of drafts falls back to published ones. */
  async #current(agent: string, status: RevisionStatus): Promise<Revision | undefined> {
    const { draft, published } = readShelf(await this.#values.get(agent))
    const version = status === 'draft' ? (draft ?? published) : published
    return version === undefined ? undefined : readKept(await this.#values.get(`${agent}/${version}`))?.revision
  }

  /** The revision with the exact version of its code; undefined if that is not registered. */
  #based(agent: string, revision: Revision): Revision | undefined {
    if (revision.base === undefined) return revision
    const code = this.#find(agent, revision.base)
    return code === undefined ? undefined : { ...revision, base: code.version }
  }

  async #missing(agent: string, asked: string): Promise<UnknownVersion> {
    const { versions } = readShelf(await this.#values.get(agent))
    return { agent, asked, known: [...versions] }
  }

  /** Throws `input.invalid` if the revision does not fit the registered agent. */
  #mustFit(name: string, revision: Revision): void {
    refuseProblems('input.invalid', this.problemsOf(name, revision), 'Nothing was kept.')
  }

  /** What is wrong with a revision of the registered agent, one sentence each. */
  problemsOf(name: string, revision: Revision): string[] {
    const problems = revisionProblems(revision, `revision of "${name}"`)
    const agent = this.#find(name)
    if (problems.length === 0 && agent !== undefined) problems.push(...fitProblems(agent, revision))
    return problems
  }
}

/** Whether it is a model agent; those know their tools. */
type ModelAgentLike = Agent & { readonly toolNames?: readonly string[] }

/** The model of an agent under this revision. */
export function revisedModel(agent: Agent, revision: Revision | undefined): Agent['model'] {
  if (revision?.model === undefined) return agent.model
  return resolveModel(revision.model)
}

function fitProblems(agent: ModelAgentLike, { instructions, model, settings, tools }: Revision): string[] {
  const where = `revision of "${agent.name}"`
  const modelFields = Object.entries({ instructions, model, settings, tools }).filter(
    ([, value]) => value !== undefined,
  )
  if (agent.model === undefined && modelFields.length > 0)
    return [
      `${where}: ${modelFields.map(([name]) => name).join(', ')} is for agents that think with a model, and this one is code`,
    ]
  const strange = (tools ?? []).filter((name) => agent.toolNames?.includes(name) === false)
  const problems = strange.map(
    (name) => `${where}: "${name}" is no tool of it; its tools are: ${agent.toolNames?.join(', ') ?? ''}`,
  )
  const wrong = model === undefined ? undefined : modelProblem(model)
  if (wrong !== undefined) problems.push(`${where}: ${wrong}`)
  else if (model !== undefined) {
    const offered = (agent.tools?.() ?? []).filter(({ name }) => tools?.includes(name) !== false)
    const missing = providerToolProblems(offered, modelsOf(resolveModel(model)))
    problems.push(...missing.map((problem) => `${where}: ${problem}`))
  }
  return problems
}

/** The choice of a start. */
export interface Chosen {
  readonly versions?: VersionChoices
  /** For agents without a choice. */
  readonly defaultStatus?: RevisionStatus
}

/** The choices of a start over those of the runtime; undefined without any. */
export function chosenBy(all: Chosen, call: Chosen): Chosen | undefined {
  const versions = { ...all.versions, ...call.versions }
  const defaultStatus = call.defaultStatus ?? all.defaultStatus
  if (Object.keys(versions).length === 0 && defaultStatus === undefined) return undefined
  return { versions, ...(defaultStatus === undefined ? undefined : { defaultStatus }) }
}

/** A requested version that is missing. */
export interface UnknownVersion {
  readonly agent: string
  readonly asked: string
  readonly known: readonly string[]
}

/** Resolved choices. */
export interface Resolved {
  readonly revisions?: Revisions
  readonly unknown: readonly UnknownVersion[]
}

/** The resolved choices in a recorded root's edge. */
export function resolvedIn(recorded: Json): Resolved {
  const { versions, root } = recorded as unknown as {
    readonly versions?: Revisions
    readonly root?: { readonly unknown?: readonly UnknownVersion[] }
  }
  return { ...(versions === undefined ? undefined : { revisions: versions }), unknown: root?.unknown ?? [] }
}

const asksFor = (choice: VersionChoice): string =>
  typeof choice === 'string' ? choice : 'status' in choice ? choice.status : choice.version

/** Whether a choice falls back to the current code if nothing is published. */
const asksForPublished = (choice: VersionChoice): boolean =>
  typeof choice !== 'string' && 'status' in choice && choice.status === 'published'

/** The error for missing versions. */
export const unknownVersion = (agent: string, version: string, known: readonly string[]): ReeveError =>
  new ReeveError(
    'version.unknown',
    `unknown version "${version}" of "${agent}"${known.length === 0 ? '' : `; known: ${known.join(', ')}`}`,
    {
      hint: 'List them: runtime.versions.revisions(). Publish it first, or register that version of the code.',
    },
  )

/** The check of the status of revisions. */
export const statusCheck = choice('draft', 'published')
const choiceOptions = object<{ version: string; status: string }>(
  { version: expects((given) => typeof given === 'string' && given !== '', 'a text'), status: statusCheck },
  ({ version, status }, where) => [
    (version === undefined) === (status === undefined) && `${where}: expected either a version or a status`,
  ],
)

/** The check of choices. `known`: the agents that may be named; default: all. */
export const choicesCheck = (known?: readonly string[]): Check =>
  recordOf(
    (given, where) =>
      typeof given !== 'string' ? choiceOptions(given, where) : given === '' ? [`${where} is empty`] : [],
    'choices by the name of the agent',
    (agent, where) =>
      known === undefined || known.includes(agent)
        ? undefined
        : `${where}.${agent}: unknown agent "${agent}"${meantInstead(agent, known, 'known:')}`,
  )
