/**
 * Turn scopes: the names of the scopes in a turn of a model agent, as they stand in addresses. Persistent.
 *
 * Owns: the names, and what an address says of its place in a turn. Does not own: the turn (../agent/loop/turn.ts),
 * what middlewares change (../agent/extensions/middleware-chain.ts). Pure. An address is the only place of a step of
 * users' code in a turn: no field of its events could say it in journals that are written already.
 */

/** The scope of each tool call of a turn. */
export const callScope = 'call'

/** The hook of middlewares that may change a model's answer. */
const answerHook = 'afterModel'
/** The hook of middlewares that may change how an agent ends. */
const endHook = 'after'

/** The scope in which a middleware runs a hook. */
export const hookScope = (hook: string, middleware: string): string => `${hook}:${middleware}`

/**
 * Whether this address is in a hook that may still change the answer of the turn. `turn`: what its addresses begin
 * with.
 */
export const isInAnswerHook = (address: string, turn: string): boolean =>
  address.startsWith(turn + hookScope(answerHook, ''))

/** Whether this address is in a tool call of the turn. `turn`: what its addresses begin with. */
export const isInCall = (address: string, turn: string): boolean => address.startsWith(turn + callScope)

/** Whether this address is in a hook that judges what was done: an answer of the model, or the end of the agent. */
export const isInEndHook = (address: string): boolean =>
  address
    .split('/')
    .some((name) => name.startsWith(hookScope(answerHook, '')) || name.startsWith(hookScope(endHook, '')))
