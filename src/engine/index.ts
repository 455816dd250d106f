/** What happens next: the context, the Engine port, and the replay machinery that engines share. */
export * from './context.ts'
export * from './port.ts'
export { Account, reserveAll, type AccountState } from './account.ts'
export { Activation } from './activation.ts'
export { backoff, Effects, encodeEnd, type EffectsHost } from './effects.ts'
export type { Host } from './host.ts'
export { mayLeave, noteHeld, stoppedEnd } from './leaving.ts'
export type { Birth, Operation, Owner } from './operation.ts'
