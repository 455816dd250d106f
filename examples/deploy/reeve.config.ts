/**
 * The config of an installation: the same for servers and workers. What differs between places comes from the
 * environment. Importing it opens nothing.
 */
import { agent, tool } from 'reeve'

const { REEVE_STORE, REEVE_TOKEN, REEVE_HOST } = process.env

const pay = tool({
  name: 'pay',
  description: 'Pays a refund.',
  effect: 'once',
  approval: { risk: 'high' },
  execute: () => 'paid',
})
export const agents = [agent({ name: 'refunds', model: 'anthropic/claude-sonnet-4-5', tools: [pay] })]

/** A file on a local disk, or `postgres://…` where several hosts share it. */
export const store = REEVE_STORE ?? './reeve.db'

/** How long model calls and tools have to end when the process is told to stop. Less than the orchestrator waits. */
export const graceMs = 25_000

/** The server: under which name it is reached, and who may use it. Probes are answered under any name. */
export const server = {
  ...(REEVE_HOST === undefined ? {} : { hosts: [REEVE_HOST] }),
  ...(REEVE_TOKEN === undefined
    ? {}
    : { auth: { tokens: { [REEVE_TOKEN]: { name: 'operations', roles: ['admin' as const] } } } }),
}
