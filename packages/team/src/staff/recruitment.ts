/**
 * Recruitment: whether a new member is admitted (spec team 1.8, R-8).
 *
 * Owns: the order of the questions, what is recorded of an answer. Does not own: the options (options.ts), reading a request
 * (staff-requests.ts), policies and humans (permission.ts), what a recruit does (../schedule).
 * Holds: K3: counts are taken after all questions, in one go, so two undecided requests never both get the last place.
 * K6: one answer for one request, recorded once.
 */
import { asText, present, type Failure, type JsonObject } from '@reeve/core'
import type { Recruited, RecruitRequest } from '@reeve/agent'
import type { Limits, Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { StaffRefusal } from '@reeve/journal'
import type { CommandSender } from '../mail/command-handlers.ts'
import type { RequestFiles } from '../plan/plan-parser.ts'
import type { Estimate } from '../plan/plan.ts'
import { generalist, type RoleBook } from '../plan/roles.ts'
import { hasEnded, newEntry, type TaskGraph, type TaskEntry } from '../state/task-graph.ts'
import type { Scheduler } from '../schedule/scheduler.ts'
import { isSameRole, type Directory } from '../state/directory.ts'
import { addMember } from './admission.ts'
import { permission, type Permission } from './permission.ts'
import type { TeamPolicy } from '../policy.ts'
import { depthDefault, perMemberDefault, type RecruitOptions } from './options.ts'
import { readRecruit, normalizedDescription, type ReadRecruit } from './staff-requests.ts'

/** The staff options of a team. */
export interface StaffRules extends RecruitOptions {
  readonly maxTeamSize: number
  readonly defaultRole: string
  /** The policies, in the order in which they are asked. */
  readonly policies: readonly (TeamPolicy | undefined)[]
}

/** The parts of a team that staffing uses. */
export interface StaffParts {
  readonly ctx: Context
  readonly rules: StaffRules
  /** The oversight of the team. */
  readonly oversight: Oversight | undefined
  readonly limits: Limits | undefined
  readonly roles: RoleBook
  readonly graph: TaskGraph
  readonly directory: Directory
  /** The files of the request. */
  readonly files: RequestFiles
  readonly work: Scheduler
  /**
   * Whether the budget may have room for a member expected to use this; a failure says why not. `asker`: the task of
   * the requester.
   */
  readonly admit: (estimate: Estimate | undefined, asker: string | undefined) => Failure | undefined
  /** Whether it is too late: the work has ended. */
  readonly isClosed: () => boolean
}

type RefusedRecruit = Extract<Recruited, { readonly admitted: false }> & { readonly reason: StaffRefusal }

export class Recruitment {
  readonly #parts: StaffParts
  readonly #answers = new Map<string, Promise<Recruited>>()

  constructor(parts: StaffParts) {
    this.#parts = parts
  }

  /**
   * Decides on a request. `id`: of the command; that of the request, if it names none. The same request again has the same
   * answer. Rejects only with `Cancelled`.
   */
  recruit(given: RecruitRequest, speaker: CommandSender, id: string): Promise<Recruited> {
    const { graph, isClosed } = this.#parts
    const read = readRecruit(given, speaker.entry?.id, (task) => graph.get(task) !== undefined)
    const request = requestOf(given) ?? id
    const known = this.#answers.get(request)
    const refused = !read.ok
      ? refusal('invalid', read.problems.join('; '))
      : this.#roleOf(read.request) === undefined
        ? refusal('invalid', `unknown role "${this.#roleName(read.request)}", and this team has no ${generalist}`)
        : isClosed()
          ? closed
          : undefined
    if (refused !== undefined || !read.ok) {
      const answer = refused ?? closed
      if (known === undefined) this.#refuseAtOnce(given, request, speaker, answer)
      return Promise.resolve(answer)
    }
    if (known !== undefined) return known
    const answer = this.#decide(read.request, speaker, request)
    this.#answers.set(request, answer)
    return answer
  }

  #refuseAtOnce(given: unknown, request: string, { name }: CommandSender, answer: RefusedRecruit): void {
    const { description, role } = (given ?? {}) as { readonly description?: unknown; readonly role?: unknown }
    const said = { role: textOf(role), description: textOf(description) }
    this.#parts.ctx.emit({ type: 'recruit.requested', request, ...said, by: name })
    this.#note(request, answer)
  }

  async #decide(recruit: ReadRecruit, speaker: CommandSender, request: string): Promise<Recruited> {
    const { ctx, work, rules, directory, oversight } = this.#parts
    const { description, parent, join } = recruit
    const role = this.#roleName(recruit)
    ctx.emit({
      type: 'recruit.requested',
      request,
      role,
      description,
      by: speaker.name,
      ...present({ parent }),
    })
    // no task waits for a recruit of `none`, so none waits for the answer either
    const release = join === 'none' ? undefined : work.hold()
    try {
      const details: JsonObject = {
        request,
        join,
        ...present({ parent }),
        ...estimateOf(recruit),
      }
      const asked = { action: 'recruit', actor: speaker.name, role, description, details } as const
      const may = await permission(ctx.scope('recruit'), rules.policies, asked, directory.size('ever'), {
        entry: speaker.entry,
        work,
        oversight,
      })
      if (!may.ok) return this.#note(request, this.#parts.isClosed() ? closed : refusal(may.reason, may.message))
      return this.#answer(
        may.edited === undefined ? recruit : edited(recruit, may.edited),
        recruit,
        speaker,
        request,
        may,
      )
    } finally {
      release?.()
    }
  }

  /**
   * All questions are answered: from here on nothing is waited for. A recruit approved by a human is not asked about
   * again at the beginning of its task.
   */
  #answer(
    recruit: ReadRecruit,
    asked: ReadRecruit,
    speaker: CommandSender,
    request: string,
    may: Extract<Permission, { ok: true }>,
  ): Recruited {
    const refused = this.#refusal(recruit, speaker)
    if (refused !== undefined) return this.#note(request, refused)
    const { graph, directory, work, ctx } = this.#parts
    const role = this.#roleOf(recruit)!
    const already = graph.all.find(
      (each) => isSameWork(each, role.role, recruit.description) && directory.isThere(each.member),
    )
    const said = present({ note: may.note })
    if (already !== undefined)
      return this.#note(request, { admitted: true, member: already.member, duplicate: true, ...said })
    const { description, parent, join, estimate } = recruit
    const member = directory.newId(role.role, true, (id) => graph.get(id) !== undefined)
    const task = { id: member, description, role: role.role, ...present({ estimate }) }
    const entry = newEntry(task, role, member, {
      by: speaker.name,
      asker: speaker.entry?.member,
      parent,
      join,
      depth: depthOf(speaker),
    })
    entry.reviewed = may.seen === true
    entry.reviewedUntil = may.until
    graph.add(entry)
    const changed = recruit === asked ? undefined : { role: role.role, description }
    const answer = this.#note(request, { admitted: true, member, duplicate: false, ...said }, changed)
    addMember(ctx, directory, entry)
    work.advance()
    return answer
  }

  /** Why there is no room; in the order in which it is asked. */
  #refusal({ estimate, ...recruit }: ReadRecruit, speaker: CommandSender): RefusedRecruit | undefined {
    const { rules, directory, graph, admit, isClosed } = this.#parts
    const { counts = 'ever', perMember = perMemberDefault, depth = depthDefault, maxTeamSize: most } = rules
    if (isClosed()) return closed
    if (this.#roleOf({ estimate, ...recruit }) === undefined)
      return refusal('invalid', `unknown role "${recruit.role}"`)
    const size = directory.size(counts)
    if (size >= most)
      return refusal(
        'team_size',
        `the team has ${size} members${counts === 'ever' ? ' in all' : ''}, and ${most} is the most`,
      )
    const { entry, name } = speaker
    const own = entry === undefined ? 0 : graph.all.filter(({ recruit }) => recruit?.asker === entry.member).length
    if (entry !== undefined && own >= perMember)
      return refusal('per_member', `"${name}" has ${own} recruits, and ${perMember} is the most for one member`)
    if (depthOf(speaker) > depth)
      return refusal('depth', `recruits may recruit ${depth} deep, and "${name}" is that deep already`)
    const short = admit(estimate, entry?.id)
    return short === undefined ? undefined : refusal('budget', short.message)
  }

  /** What was decided. */
  #note<A extends Recruited>(
    request: string,
    answer: A,
    changed?: { readonly role: string; readonly description: string },
  ): A {
    const fact = { type: 'recruit.decided', request, admitted: answer.admitted } as const
    if (!answer.admitted)
      this.#parts.ctx.emit({ ...fact, reason: answer.reason as StaffRefusal, message: answer.message })
    else {
      const duplicate = answer.duplicate ? ({ duplicate: true } as const) : undefined
      this.#parts.ctx.emit({ ...fact, member: answer.member, ...duplicate, ...changed })
    }
    return answer
  }

  #roleName({ role }: ReadRecruit): string {
    return role ?? this.#parts.rules.defaultRole
  }

  #roleOf(recruit: ReadRecruit): TaskEntry['role'] | undefined {
    return this.#parts.roles.find(this.#roleName(recruit))
  }
}

const refusal = (reason: StaffRefusal, message: string): RefusedRecruit => ({ admitted: false, reason, message })
const closed = refusal('closed', 'the work of this team has ended')

/** A request as an approver has edited it. What the edit omits, or gives in a wrong form, stays. */
function edited(recruit: ReadRecruit, { role, description }: JsonObject): ReadRecruit {
  return {
    ...recruit,
    role: typeof role === 'string' && role.trim() !== '' ? role.trim() : recruit.role,
    description:
      typeof description === 'string' && description.trim() !== '' ? description.trim() : recruit.description,
  }
}

const depthOf = ({ entry }: CommandSender): number => (entry?.recruit?.depth ?? 0) + 1

const isSameWork = (entry: TaskEntry, role: string, description: string): boolean =>
  !hasEnded(entry) &&
  isSameRole(entry.role.role, role) &&
  normalizedDescription(asText(entry.task.description)) === normalizedDescription(description)

const requestOf = (given: RecruitRequest): string | undefined => {
  const { requestId } = (given ?? {}) as { readonly requestId?: unknown }
  return typeof requestId === 'string' && requestId.trim() !== '' ? requestId : undefined
}

const estimateOf = ({ estimate }: ReadRecruit): JsonObject | undefined =>
  estimate === undefined ? undefined : { estimate: { ...estimate } as JsonObject }

const textOf = (said: unknown): string => (typeof said === 'string' ? said.trim() : '')
