/** What the compiler knows of the face: names are literals, inputs and outputs are inferred. Compiled, never run. */
import { z } from 'zod'
import { agent, delegate, tool, type Agent, type InputOf, type NameOf, type OutputOf } from '../../src/agent/index.ts'
import type { Outcome } from '../../src/core/index.ts'
import type { Context } from '../../src/engine/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import type { Runtime } from '../../src/runtime/index.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>): void => {}

const text = agent({ name: 'researcher', description: 'Finds.', model: 'openai/gpt-5' })
const typed = agent({
  name: 'writer',
  description: 'Writes.',
  model: () => 'x',
  input: z.object({ topic: z.string() }),
  output: z.object({ words: z.number() }),
})
const coded = agent({ name: 'counter', description: 'Counts.', run: async (_ctx, brief) => ({ length: brief.length }) })
const codedTyped = agent({
  name: 'adder',
  description: 'Adds.',
  input: z.object({ a: z.number().default(1) }),
  run: (_ctx, { a }) => a + 1,
})

export const inferred = (): void => {
  same<NameOf<typeof text>, 'researcher'>(true)
  same<InputOf<typeof text>, string>(true)
  same<OutputOf<typeof text>, string>(true)
  same<InputOf<typeof typed>, { topic: string }>(true)
  same<OutputOf<typeof typed>, { words: number }>(true)
  same<OutputOf<typeof coded>, { length: number }>(true)
  same<OutputOf<typeof codedTyped>, number>(true)
  // any agent is an agent
  const all: readonly Agent[] = [text, typed, coded, codedTyped]
  void all
}

const team = supervisor({
  name: 'newsroom',
  model: () => 'x',
  workers: [text, typed],
  delegation: { context: 'answers', workers: { writer: { limits: { turns: 3 } } } },
  output: z.array(z.string()),
})
// @ts-expect-error 'editor' does not work here
supervisor({ name: 'newsroom', model: () => 'x', workers: [text, typed], delegation: { workers: { editor: { limits: { turns: 3 } } } } })
// @ts-expect-error a supervisor thinks with something
supervisor({ name: 'newsroom', workers: [text] })
// @ts-expect-error either a model or a run
agent({ name: 'both', model: () => 'x', run: () => 1 })
// @ts-expect-error an unknown effect
tool({ name: 'x', effect: 'sometimes', execute: () => 1 })

export const named = (): void => {
  same<ReturnType<typeof team.team>[number], 'researcher' | 'writer'>(true)
  same<OutputOf<typeof team>, string[]>(true)
  const search = tool({
    name: 'search',
    input: z.object({ query: z.string() }),
    approval: ({ query }) => query.length > 3,
    execute: ({ query }, io) => `${query} ${io.key}`,
  })
  same<(typeof search)['name'], 'search'>(true)
  // @ts-expect-error the input has no such member
  tool({ name: 'search', input: z.object({ query: z.string() }), execute: ({ topic }) => typeof topic })
}

export async function used(ctx: Context, runtime: Runtime): Promise<void> {
  const outcome = await delegate(ctx, typed, { topic: 'x' })
  same<typeof outcome, Outcome<{ words: number }>>(true)
  if (outcome.status === 'completed') same<typeof outcome.output, { words: number }>(true)
  // @ts-expect-error output exists only on 'completed'
  void outcome.output
  // @ts-expect-error the input is { topic: string }
  await delegate(ctx, typed, 'x')
  // @ts-expect-error the input is text
  await runtime.run(text, { topic: 'x' })
  const run = await runtime.run(team, 'x')
  if (run.status === 'completed') same<typeof run.output, string[]>(true)
}
