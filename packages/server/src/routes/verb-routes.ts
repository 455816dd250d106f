/** Verbs as routes. Owns: how a call becomes one over HTTP, and which status its end has. */
import { carriedOut } from '../command-wait.ts'
import { answered, ownRun, type Route } from '../route.ts'
import { Begun, type Verb, type VerbCall } from '../verbs/verb.ts'
import { nothing } from '../wire-schema.ts'

/** The routes of these verbs, in their order. */
export const verbRoutes = (verbs: readonly Verb[]): readonly Route[] => verbs.map(verbRoute)

function verbRoute(verb: Verb): Route {
  const { address, door, summary, query, input, answer, waits, begins } = verb
  const [method, path] = address.split(' ') as ['POST', string]
  const isEmpty = answer === nothing
  const statuses = [
    ...(begins === true ? [201 as const] : []),
    ...(waits === true ? [202 as const] : []),
    ...(isEmpty ? [204 as const] : []),
  ]
  return {
    ...door,
    method,
    path,
    summary,
    ...(query && { query }),
    body: input,
    answer,
    ...(statuses.length > 0 && { statuses }),
    async handle(context, { path: names, ...given }) {
      const { run: id } = names as { readonly run?: string }
      const run = id === undefined ? undefined : await ownRun(context, id)
      const { runtime, principal } = context
      const act = (signal: AbortSignal): Promise<unknown> =>
        verb.run(given.body, {
          runtime,
          run,
          path: names,
          query: given.query,
          by: principal.name,
          signal,
        } as VerbCall<string, unknown>)
      const end = waits === true ? await carriedOut(context, act) : await act(context.signal)
      if (end instanceof Begun) return end.isNew ? answered(201, end.answer) : (end.answer as unknown)
      return isEmpty && !(end instanceof Response) ? answered(204) : end
    },
  }
}
