/** Many minds led by one: delegate, forward, recruit. */
export { supervisor, type Supervisor, type SupervisorOptions } from './supervisor.ts'
export type { Delegation, WorkerDelegation } from './delegation.ts'
