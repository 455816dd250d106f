/** A door: one way into the server, what it opens, and who may. Data. Does not own: any door (doors.ts, ../verbs). */
import type { Role } from '../wire.ts'

/** What each kind of resource is to a principal of one tenant, or of some agents. */
export const resources = {
  /** Says nothing of any run or agent, or proves by itself who may: a link. */
  public: 'all',
  /** The caller's own: who they are, their cookie. */
  caller: 'own',
  /** Agents: those that the principal may use. */
  agent: 'own',
  /** The run that the path names: what is not theirs is not there. */
  run: 'own',
  /** Lists and streams over runs and questions: theirs alone. */
  runs: 'own',
  question: 'own',
  /** A conversation: read by who may see its runs, continued by its owner and whom it is shared with. */
  session: 'own',
  /** What all tenants share: refused to a principal of one tenant, or of some agents. */
  installation: 'refused',
} as const

/** A kind of resource that a door opens. */
export type Resource = keyof typeof resources

/** A way in. */
export interface Door {
  /** Who may; `open`: everyone, without a credential. */
  readonly role: Role | 'open'
  readonly resource: Resource
}

export const open = <Of extends Resource>(resource: Of) => ({ role: 'open', resource }) as const
export const viewer = <Of extends Resource>(resource: Of) => ({ role: 'viewer', resource }) as const
export const operator = <Of extends Resource>(resource: Of) => ({ role: 'operator', resource }) as const
export const approver = <Of extends Resource>(resource: Of) => ({ role: 'approver', resource }) as const
export const admin = <Of extends Resource>(resource: Of) => ({ role: 'admin', resource }) as const
