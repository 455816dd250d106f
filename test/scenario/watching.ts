/** What the scenarios of middlewares are told with. */
import { tool, type Middleware, type Moment } from '@reeve/agent'
import type { Json } from '@reeve/core'

/** A tool that writes down what it is given. */
export const note = (log: Json[] = []) => tool({ name: 'note', execute: (input) => (log.push(input), 'noted') })

/** Writes down that it was asked, and changes nothing. */
export function watching(name: string, log: string[]): Middleware {
  const seen = (hook: string, { agent: whose, turn }: Moment): undefined =>
    void log.push(`${name}.${hook} ${whose} ${turn}`)
  return {
    name,
    before: (_begins, at) => seen('before', at),
    beforeModel: (_asked, at) => seen('beforeModel', at),
    afterModel: (_answer, at) => seen('afterModel', at),
    wrapTool: async ({ name: of }, run, at) => {
      seen(`in:${of}`, at)
      const result = await run()
      seen(`out:${of}`, at)
      return result
    },
    after: (_outcome, at) => seen('after', at),
  }
}

/** What middlewares have changed, as it is recorded. */
export const changes = (events: readonly { readonly type: string }[]): Json[] =>
  events.flatMap((event) => (event.type === 'fact.noted' ? [(event as unknown as { data: Json }).data] : []))
