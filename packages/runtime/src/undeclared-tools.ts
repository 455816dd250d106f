/**
 * Undeclared tools: those whose authors have not said whether they may run twice. They are taken for `once`.
 *
 * Owns: finding them, the hint of a process. Does not own: the default (agent/tool/tool.ts).
 */
import { reachableAgents, type Agent } from '@reeve/agent'

/** The tools of an agent that declare no effect. */
export interface UndeclaredTools {
  readonly agent: string
  readonly tools: readonly string[]
}

/** Of these agents and of all agents below them. */
export const undeclaredTools = (roots: readonly Agent[]): readonly UndeclaredTools[] =>
  reachableAgents(roots).flatMap((agent) => {
    const tools = agent.undeclaredTools?.() ?? []
    return tools.length === 0 ? [] : [{ agent: agent.name, tools }]
  })

/** What to do about them. */
export const declareThem =
  "Each runs once: a throw is not retried, and after a crash in the middle of a call the run asks. Declare effect: 'read', 'idempotent' or 'once'."

/** Of very many, so many are named. */
const mostNamed = 20

export const undeclaredText = (found: readonly UndeclaredTools[]): string =>
  found
    .map(({ agent, tools }) => {
      const names = tools.slice(0, mostNamed).map((tool) => `"${tool}"`)
      const more = tools.length > mostNamed ? ` and ${tools.length - mostNamed} more` : ''
      return `${names.join(', ')}${more} of agent "${agent}"`
    })
    .join('; ')

/** What this process has said already. */
const hinted = new Set<string>()

/** Names each undeclared tool once in a process, while a team is developed: not in production, not in tests. */
export function hintAtUndeclaredTools(roots: readonly Agent[], warn: (code: string, message: string) => void): void {
  const { NODE_ENV } = process.env
  if (NODE_ENV === 'production' || NODE_ENV === 'test') return
  const found = undeclaredTools(roots).flatMap(({ agent, tools }) => {
    const unsaid = tools.filter((tool) => !hinted.has(`${agent}.${tool}`))
    for (const tool of unsaid) hinted.add(`${agent}.${tool}`)
    return unsaid.length === 0 ? [] : [{ agent, tools: unsaid }]
  })
  if (found.length > 0) warn('tool.undeclared', `tools without an effect: ${undeclaredText(found)}. ${declareThem}`)
}
