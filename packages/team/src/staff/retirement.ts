/**
 * Retirement: whether a member leaves, when, and what becomes of its task (spec team R-8b).
 *
 * Owns: the order of the questions, handing a task over. Does not own: reading a request (staff-requests.ts), policies
 * and humans (permission.ts), stopping a worker (../schedule).
 * Holds: K7: a task ends once, for any member: one done before its stop arrives is done. No member comes back, and no
 * id is used twice.
 */
import { failure, meantInstead, present } from '@reeve/core'
import type { Retired, RetireRequest } from '@reeve/agent'
import type { StaffRefusal } from '@reeve/journal'
import type { CommandSender } from '../mail/command-handlers.ts'
import { hasEnded, type TaskEntry } from '../state/task-graph.ts'
import { addMember } from './admission.ts'
import { permission } from './permission.ts'
import type { StaffParts } from './recruitment.ts'
import { readRetire, type ReadRetire } from './staff-requests.ts'

type RefusedRetirement = Extract<Retired, { readonly retired: false }> & { readonly reason: StaffRefusal }

export class Retirement {
  readonly #parts: StaffParts
  /** Tasks whose member was made to leave once. */
  readonly #forced = new Set<string>()

  constructor(parts: StaffParts) {
    this.#parts = parts
  }

  /** Decides on a request, and carries it out. `request`: the id of the command. Rejects only with `Cancelled`. */
  async retire(given: RetireRequest, speaker: CommandSender, request: string): Promise<Retired> {
    const read = readRetire(given)
    if (!read.ok) return this.#refuse(request, nameIn(given), speaker, refusal('invalid', read.problems.join('; ')))
    const { request: retire } = read
    const { member, mode, reason } = retire
    const early = this.#refusal(retire)
    if (early !== undefined) return this.#refuse(request, member, speaker, early)
    const { ctx, work, rules, directory, oversight } = this.#parts
    const { role } = directory.get(member)!
    const details = { request, member, mode, reassign: retire.reassign }
    const asked = {
      action: 'retire',
      actor: speaker.name,
      role,
      ...present({ description: reason }),
      details,
    } as const
    const may = await permission(ctx.scope('retire'), rules.policies, asked, directory.size('ever'), {
      entry: speaker.entry,
      work,
      oversight,
    })
    // it may have ended meanwhile
    const late = this.#refusal(retire)
    if (late !== undefined) return this.#refuse(request, member, speaker, late)
    if (!may.ok) return this.#refuse(request, member, speaker, refusal(may.reason, may.message))
    this.#leave(retire, speaker, request)
    return { retired: true }
  }

  #refusal({ member, mode }: ReadRetire): RefusedRetirement | undefined {
    const { directory, isClosed } = this.#parts
    if (isClosed()) return refusal('closed', 'the work of this team has ended')
    const entry = directory.get(member)
    if (entry === undefined) {
      const names = directory.list().map((each) => each.member)
      return refusal('unknown', `unknown member "${member}"${meantInstead(member, names, 'known:')}`)
    }
    if (!directory.isThere(member)) return refusal('ended', `"${member}" has ended: ${entry.status}`)
    if (mode === 'graceful' && directory.isLeaving(member))
      return refusal('ended', `"${member}" leaves already, after its task`)
    return undefined
  }

  #leave(retire: ReadRetire, { name }: CommandSender, request: string): void {
    const { ctx, graph, directory, work } = this.#parts
    const { member, mode, reason } = retire
    const { task, status, attempts } = directory.get(member)!
    const entry = graph.get(task)
    ctx.emit({
      type: 'teammate.retired',
      member,
      mode,
      ...present({ reason }),
      by: name,
      request,
    })
    const hasBegun = status !== 'pending' || attempts > 0
    if (entry === undefined || hasEnded(entry)) return directory.move(member, 'retired')
    if (mode === 'graceful' && hasBegun) return directory.leaveAfterTask(member)
    directory.move(member, 'retired')
    const again = retire.reassign && (mode === 'graceful' || !this.#forced.has(task))
    if (mode === 'force') this.#forced.add(task)
    const next = (): void => (again ? this.#handOver(entry) : this.#giveUp(entry))
    if (!work.recall(entry, `"${member}" was retired${reason === undefined ? '' : `: ${reason}`}`, next)) next()
  }

  /** A new member of the same role begins the task anew. */
  #handOver(entry: TaskEntry): void {
    const { ctx, graph, directory, work } = this.#parts
    const { member: from, role, recruit } = entry
    entry.member = directory.newId(role.role, recruit !== undefined, (id) => graph.get(id) !== undefined)
    ctx.emit({ type: 'task.reassigned', task: entry.id, from, to: entry.member })
    addMember(ctx, directory, entry)
    work.advance()
  }

  #giveUp(entry: TaskEntry): void {
    const message = `"${entry.member}", who had this task, was retired without a replacement`
    this.#parts.work.settle(entry, 'failed', {
      failure: failure('worker.failed', message, 'rejected', { details: { member: entry.member } }),
    })
  }

  #refuse(request: string, member: string, { name }: CommandSender, answer: RefusedRetirement): RefusedRetirement {
    this.#parts.ctx.emit({
      type: 'retire.refused',
      request,
      member,
      reason: answer.reason,
      message: answer.message,
      by: name,
    })
    return answer
  }
}

const refusal = (reason: StaffRefusal, message: string): RefusedRetirement => ({ retired: false, reason, message })

const nameIn = (given: unknown): string => {
  const { member } = (given ?? {}) as { readonly member?: unknown }
  return typeof member === 'string' ? member : ''
}
