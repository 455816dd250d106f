/** `reeve/a2a`: agents for other agents that speak A2A 1.0. The server side is a protocol of `createServer`. */
export { a2a, type A2aOptions } from './server.ts'
export type { CardOptions } from './agent-card.ts'
