/**
 * Chain: several models for one place, of which the next is asked when one cannot answer.
 *
 * Owns: the form that a user writes, its check, for which failures the next one is asked, and in which order. Does not
 * own: asking (../agent/loop/turn.ts: each model of a chain is a step of its own, with its own record, price and retries).
 * Holds: K3: which model follows depends on nothing but the recorded failure.
 */
import { choice, described, FailureError, isObject, own, unknownNames, type Failure } from '@reeve/core'
import type { FallbackReason, FinishReason, Model, ModelAnswer, ModelLink, ModelRequest } from './model.ts'

const reasons: readonly FallbackReason[] = ['down', 'limited', 'denied', 'too-large', 'slow', 'refused']

/** All but refusals: another model may answer what one has refused, and that is for people to decide. */
export const usualReasons: readonly FallbackReason[] = ['down', 'limited', 'denied', 'too-large', 'slow']

const byCode: ReadonlyMap<string, FallbackReason> = new Map([
  ['model.unavailable', 'down'],
  ['model.cut-off', 'down'],
  ['model.failed', 'down'],
  ['model.answer-invalid', 'down'],
  ['model.empty', 'down'],
  ['model.calls-missing', 'down'],
  ['model.rate-limited', 'limited'],
  ['model.not-authorized', 'denied'],
  ['model.not-installed', 'denied'],
  ['model.unknown', 'denied'],
  ['model.unsupported', 'denied'],
  ['model.context-full', 'too-large'],
  ['model.silent', 'slow'],
  ['effect.timed-out', 'slow'],
  ['model.refused', 'refused'],
  ['model.filtered', 'refused'],
  ['model.prompt-blocked', 'refused'],
])

/** HTTP 413 (RFC 9110 §15.5.14), and what providers call a prompt that is too long. */
const tooLong = /context_length|context_window|request_too_large|prompt_too_long|string_above_max_length/i

/** For which reason the next model is asked; undefined if it could do no better. */
export function fallbackReason({ code, details }: Failure): FallbackReason | undefined {
  if (code !== 'model.bad-request') return byCode.get(code)
  const kind = details?.['kind']
  return details?.['status'] === 413 || (typeof kind === 'string' && tooLong.test(kind)) ? 'too-large' : undefined
}

/** Answers that the model did not end, and that another model may. */
const byFinish: { readonly [finish in FinishReason]?: FallbackReason } = {
  refusal: 'refused',
  'content-filter': 'refused',
  'prompt-blocked': 'refused',
  'context-full': 'too-large',
}

/** For which reason the next model is asked after an answer that stopped so; undefined if the answer stands. */
export const fallbackOfAnswer = ({ finish }: Pick<ModelAnswer, 'finish'>): FallbackReason | undefined =>
  own(byFinish, finish)

/**
 * The order in which the models of a chain are asked: from the one at this position, which answered last, then the later
 * ones, then those before it.
 */
export const chainFrom = (chain: readonly ModelLink[], at: number): readonly ModelLink[] =>
  at === 0 ? chain : [...chain.slice(at), ...chain.slice(0, at)]

/** Where in this order the next model stands that may be asked for this reason; -1 if there is none. */
export const nextLink = (order: readonly ModelLink[], after: number, reason: FallbackReason): number =>
  order.findIndex(({ when }, i) => i > after && when.includes(reason))

/** The models behind one: those of a chain, else itself. */
export const modelsOf = <M extends Pick<Model, 'id' | 'chain'>>(model: M): readonly (M | Model)[] =>
  model.chain?.map((link) => link.model) ?? [model]

/** A chain as one `Model`. Asked by itself, it asks one after the other; agents ask each in a step of its own. */
export function chainedModel(chain: readonly ModelLink[]): Model {
  const [first] = chain
  if (chain.length === 1) return first!.model
  const tools = chain.flatMap(({ model }) => model.mostTools ?? [])
  return {
    id: chain.map(({ model }) => model.id).join(' > '),
    ...(first!.model.price !== undefined && { price: first!.model.price }),
    ...(tools.length > 0 && { mostTools: Math.min(...tools) }),
    chain,
    call: (request) => askInTurn(chain, request),
    async prepare() {
      await Promise.all(chain.map(async ({ model }) => model.prepare?.()))
    },
  }
}

async function askInTurn(chain: readonly ModelLink[], request: ModelRequest): Promise<ModelAnswer> {
  for (let at = 0; ;) {
    try {
      const answer = await chain[at]!.model.call(request)
      const reason = fallbackOfAnswer(answer)
      const next = reason === undefined ? -1 : nextLink(chain, at, reason)
      if (next < 0) return answer
      at = next
    } catch (thrown) {
      const reason = thrown instanceof FailureError ? fallbackReason(thrown.failure) : undefined
      at = reason === undefined ? -1 : nextLink(chain, at, reason)
      if (at < 0) throw thrown
    }
  }
}

const longestChain = 8
const linkNames = { model: true, when: true }

/** Whether something is a link with conditions: `{ model, when }`. A `Model` has a `call`, a model object a version. */
export const isLink = (given: unknown): given is { readonly model: unknown; readonly when?: unknown } =>
  isObject(given) && Object.hasOwn(given, 'model') && !('call' in given) && !('specificationVersion' in given)

/** What is wrong with a chain besides its models; undefined if nothing is. */
export function chainProblem(given: readonly unknown[]): string | undefined {
  if (given.length === 0) return 'the chain of models is empty'
  if (given.length > longestChain) return `the chain has ${given.length} models, and ${longestChain} are the most`
  for (const [i, each] of given.entries()) {
    if (Array.isArray(each)) return `[${i}] is a list, expected a model or { model, when }`
    if (!isLink(each)) continue
    const [strange] = unknownNames(each, linkNames, `[${i}]`)
    if (strange !== undefined) return strange
    if (each.when === undefined) continue
    if (i === 0) return '[0].when: the first model is asked first; `when` is for those after it'
    if (!Array.isArray(each.when) || each.when.length === 0)
      return `[${i}].when is ${described(each.when)}, expected a list of: ${reasons.join(', ')}`
    const wrong = each.when.flatMap((reason: unknown, j) => oneReason(reason, `[${i}].when[${j}]`))[0]
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const oneReason = choice(...reasons)
