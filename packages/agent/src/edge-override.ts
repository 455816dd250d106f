/**
 * Edge override: a context whose edge differs from the recorded one, and which adds up the cost of the work.
 *
 * Owns: the view of the context, the sum. Does not own: what differs and why (work-review.ts), accounts and limits (the
 * engine). Each run of the code has its own locals, so its counters start again when work is repeated. Costs are summed
 * from arrivals, so replay computes the same sum (K3).
 */
import { isObject, type ActivationId, type Json, type MessageId, type OpId } from '@reeve/core'
import { LocalsView, type Arrival, type Context, type Locals, type StepIO, type StepOptions } from '@reeve/engine'

/** The cost of work: its model calls and all workers below it. */
export class WorkCost {
  readonly #models = new Set<OpId>()
  #usd: number | undefined

  /** US dollars, as far as known; the work cost at least this much. Undefined: unknown. */
  get usd(): number | undefined {
    return this.#usd
  }

  /** Notes that a model call has begun. */
  asked(id: OpId): void {
    this.#models.add(id)
  }

  heard(arrival: Arrival): void {
    if (arrival.type === 'worker.settled')
      for (const { usd, calls, unpriced } of arrival.usage) this.#add(calls > unpriced ? usd : undefined)
    else if (
      arrival.type === 'step.settled' &&
      this.#models.delete(arrival.id) &&
      arrival.outcome.status === 'completed'
    ) {
      const { output } = arrival.outcome
      const usage = isObject(output) ? output['usage'] : undefined
      const usd = isObject(usage) ? usage['usd'] : undefined
      this.#add(typeof usd === 'number' ? usd : undefined)
    }
  }

  #add(usd: number | undefined): void {
    if (usd !== undefined) this.#usd = (this.#usd ?? 0) + usd
  }
}

export class EdgeOverride extends LocalsView {
  readonly #input: Json
  readonly #spent: WorkCost

  /** `locals`: the locals of this run of the code. */
  constructor(ctx: Context, input: Json, spent: WorkCost, locals: Locals) {
    super(ctx, locals)
    this.#input = input
    this.#spent = spent
  }

  override get input(): Json {
    return this.#input
  }

  protected override of(ctx: Context): Context {
    return new EdgeOverride(ctx, this.#input, this.#spent, this.locals)
  }

  override begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    const id = super.begin(name, effect, options)
    if (options?.effect === 'model') this.#spent.asked(id)
    return id
  }

  override next(match: OpId): Promise<Extract<Arrival, { id: OpId }>>
  override next(match: ActivationId): Promise<Extract<Arrival, { type: 'worker.settled' }>>
  override next(match?: OpId | ActivationId | MessageId | ((arrival: Arrival) => boolean)): Promise<Arrival>
  override async next(match?: unknown): Promise<Arrival> {
    const arrival = await super.next(match as OpId)
    this.#spent.heard(arrival)
    return arrival
  }
}
