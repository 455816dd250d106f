/** What the compiler knows of the face: names are literals, inputs and outputs are inferred. Compiled, never run. */
import { type } from 'arktype'
import { z } from 'zod'
import {
  agent,
  breakLoop,
  delegate,
  exit,
  step,
  tool,
  transferTo,
  type Agent,
  type AgentContext,
  type Middleware,
  type InputOf,
  type NameOf,
  type OutputOf,
} from '@reeve/agent'
import type { Json, Outcome, PartsDropped, StreamPart, ToolProgress } from '@reeve/core'
import type { RemoteRun } from '../../packages/client/src/index.ts'
import type { Context } from '@reeve/engine'
import { loop, parallel, router, sequential, type EdgeOptions, type TransferEdge } from '@reeve/flow'
import { human, reflect, supervisor } from '@reeve/supervisor'
import type { Runtime } from '@reeve/runtime'

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

const ending = agent({
  name: 'ender',
  run: (_ctx, brief) =>
    brief === 'hand over'
      ? transferTo('researcher', { task: 'look' })
      : brief === 'stop'
        ? exit({ done: true })
        : brief === 'break'
          ? breakLoop(1)
          : 'an answer',
})
const handing = agent({ name: 'hander', run: async () => transferTo('researcher') })
const typedEnding = agent({
  name: 'typedEnder',
  output: z.object({ words: z.number() }),
  run: () => exit({ words: 1 }),
})

const middleware: Middleware = {
  name: 'watch',
  instructions: 'Be kind.',
  tools: [tool({ name: 'note', execute: () => 1 })],
  before: ({ tools }) => ({ tools: tools.slice(1) }),
  beforeModel: async ({ messages }, { values }) => {
    values.set('seen', messages.length)
    return { messages: messages.slice(-1), settings: { temperature: 0 } }
  },
  afterModel: ({ text: said }) => (said === '' ? { again: 'Say something.' } : undefined),
  wrapTool: async ({ input }, run) => {
    const told = await run(input)
    return { ...told, content: 'changed' }
  },
  after: () => undefined,
}
const watched = agent({
  name: 'watched',
  model: () => 'x',
  middleware: [middleware],
  templating: true,
  lastAnswer: true,
  outputKey: 'k',
})
supervisor({
  name: 'newsroom',
  model: () => 'x',
  workers: [text],
  middleware: [middleware],
  lastAnswer: true,
  outputKey: 'k',
})
router({ name: 'desk', model: () => 'x', workers: [text], middleware: [middleware], templating: true, outputKey: 'k' })
// @ts-expect-error code has no model for a middleware to stand around
agent({ name: 'coded', run: () => 1, middleware: [middleware] })
// @ts-expect-error an answer is changed, or asked for again
void ({ name: 'both', afterModel: () => ({ calls: [] }) } satisfies Middleware)
// @ts-expect-error whoever stands around a call gives a result
void ({ name: 'none', wrapTool: () => undefined } satisfies Middleware)
void (({ values }: Parameters<NonNullable<Middleware['after']>>[1]) => {
  // @ts-expect-error only JSON is kept
  values.set('at', new Date(0))
})

export const inferred = (): void => {
  same<OutputOf<typeof ending>, 'an answer' | { done: boolean } | number>(true)
  same<OutputOf<typeof handing>, never>(true)
  same<OutputOf<typeof typedEnding>, { words: number }>(true)
  same<OutputOf<typeof watched>, string>(true)
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
supervisor({
  name: 'newsroom',
  model: () => 'x',
  workers: [text, typed],
  // @ts-expect-error 'editor' is not a worker
  delegation: { workers: { editor: { limits: { turns: 3 } } } },
})
const led = supervisor({
  name: 'led',
  input: z.object({ topic: z.string() }),
  workers: [text, typed],
  specialists: [coded],
  delegation: { workers: { writer: { limits: { turns: 3 } } } },
  run: async (_ctx, brief, own) => {
    const found = await own.delegate('researcher', brief.topic)
    const written = await own.delegate('writer', { topic: brief.topic }, { turns: 2 })
    own.recruit('counter', 'needed')
    // @ts-expect-error 'editor' is not a worker
    await own.delegate('editor', 'x')
    // @ts-expect-error the writer takes a typed input
    await own.delegate('writer', 'x')
    // @ts-expect-error nor can the result of an unknown worker be forwarded
    own.forward('editor')
    own.forward('d1')
    return {
      found: found.text,
      words: written.outcome.status === 'completed' ? written.outcome.output.words : own.forward('writer').words,
    }
  },
})
const based = supervisor({ name: 'based', base: typed, workers: [text] })
const careful = reflect(typed, { judge: ({ text: said }) => said.length > 3 })
export const ledInferred = (): void => {
  same<InputOf<typeof led>, { topic: string }>(true)
  same<OutputOf<typeof led>, { found: string; words: number }>(true)
  same<OutputOf<typeof based>, { words: number }>(true)
  same<InputOf<typeof based>, { topic: string }>(true)
  same<NameOf<typeof careful>, 'writer_reflected'>(true)
  same<OutputOf<typeof careful>, { words: number }>(true)
}
// @ts-expect-error code leads without words for a model
supervisor({ name: 'led', workers: [text], guidance: 'x', run: () => 1 })
// @ts-expect-error either a base or a run
supervisor({ name: 'led', workers: [text], base: typed, run: () => 1 })
// @ts-expect-error somebody judges
reflect(typed, {})
// @ts-expect-error a supervisor thinks with something
supervisor({ name: 'newsroom', workers: [text] })
// @ts-expect-error either a model or a run
agent({ name: 'both', model: () => 'x', run: () => 1 })
// @ts-expect-error an unknown effect
tool({ name: 'x', effect: 'sometimes', execute: () => 1 })

const edges: EdgeOptions<'researcher' | 'writer', TransferEdge> = { agents: { writer: { context: 'brief' } } }
const desk = router({ name: 'desk', model: () => 'x', workers: [text, typed], transfer: edges })
// @ts-expect-error 'editor' is not a worker
router({ name: 'desk', model: () => 'x', workers: [text], transfer: { agents: { editor: { context: 'brief' } } } })
// @ts-expect-error nor can it be handed control
router({ name: 'desk', model: () => 'x', workers: [text], routes: { desk: ['editor'] } })

export const named = (): void => {
  same<NameOf<typeof desk>, 'desk'>(true) // what crosses to its workers does not name it
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

const ann = human({ name: 'ann', description: 'Knows.' })
const counter = human({
  name: 'counter',
  input: z.object({ page: z.string() }),
  output: z.number(),
  prompt: ({ page }) => ({ read: page }),
})
const chief = human({
  name: 'chief',
  workers: [text, ann],
  delegation: { workers: { researcher: { limits: { turns: 3 } } } },
})
// @ts-expect-error 'editor' is not a worker
human({ name: 'chief', workers: [text], delegation: { workers: { editor: { limits: { turns: 3 } } } } })
// @ts-expect-error a person has no model
human({ name: 'ann', model: () => 'x' })
// @ts-expect-error who has no workers delegates to nobody
human({ name: 'ann', delegation: {} })
// @ts-expect-error an answer for the deadline, or none
human({ name: 'ann', timeoutMs: 1, onTimeout: 'wait' })

export const people = (): void => {
  same<NameOf<typeof ann>, 'ann'>(true)
  same<InputOf<typeof ann>, string>(true)
  same<OutputOf<typeof ann>, Json>(true)
  same<InputOf<typeof counter>, { page: string }>(true)
  same<OutputOf<typeof counter>, number>(true)
  same<NameOf<typeof chief>, 'chief'>(true)
  same<ReturnType<typeof chief.team>, readonly ('researcher' | 'ann')[]>(true)
}

export const asking = agent({
  name: 'asking',
  run: async (ctx) => {
    same<typeof ctx, AgentContext>(true)
    const inner = ctx.scope('inner')
    same<typeof inner, AgentContext>(true)
    const any = await ctx.interrupt('?')
    same<typeof any, Json>(true)
    const city = await ctx.interrupt('?', { schema: z.enum(['Oslo', 'Riga']), timeoutMs: 1_000 })
    same<typeof city, 'Oslo' | 'Riga'>(true)
    const word = await ctx.approve('publish', { input: { to: 'a' }, schema: z.object({ to: z.string() }) })
    if (!word.approved) {
      same<typeof word.feedback, string>(true)
      // @ts-expect-error there are arguments only where it is approved
      void word.input
      return word.feedback
    }
    same<typeof word.input, { to: string }>(true)
    const plain = await ctx.approve('publish')
    if (plain.approved) same<typeof plain.input, Json>(true)
    // @ts-expect-error a deadline approves, rejects or escalates
    await ctx.approve('publish', { onTimeout: 'wait' })
    const length = await ctx.step('count', () => 3)
    same<typeof length, number>(true)
    const end = await ctx.delegate(typed, { topic: 'x' })
    if (end.status === 'completed') same<typeof end.output, { words: number }>(true)
    // @ts-expect-error the input is { topic: string }
    await ctx.delegate(typed, 'x')
    // what takes a context takes this one
    await step(ctx, 'look', () => 1)
    return 'done'
  },
})
void tool({ name: 'ask', run: async (ctx) => ctx.approve('x') })
void supervisor({ name: 'led', workers: [text], run: (ctx) => ctx.interrupt('x') })
void router({ name: 'desk', workers: [text], run: (ctx) => ctx.interrupt('x') })
void agent({ name: 'earlier', run: (ctx: Context) => ctx.place.agent })

const words = agent({
  name: 'words',
  input: z.object({ words: z.number() }),
  output: z.string(),
  run: (_ctx, { words: n }) => `${n}`,
})
const chain = sequential({ name: 'chain', agents: [typed, words, text] })
same<InputOf<typeof chain>, { topic: string }>(true)
same<OutputOf<typeof chain>, string>(true)
// @ts-expect-error "writer" takes a topic, "words" gives a text
void sequential({ name: 'chain', agents: [words, typed] })
// an agent of which the compiler knows nothing fits everywhere, and so does a list without a fixed length
void sequential({ name: 'chain', agents: [words as Agent, typed] })
void sequential({ name: 'chain', agents: [words, typed] as Agent[] })
void sequential({ name: 'chain', agents: () => [text, coded] })
const doubler = agent({ name: 'doubler', input: z.number(), run: (_ctx, n) => n * 2 })
const again = loop({ name: 'again', agents: [doubler], maxIterations: 3, until: (n) => n > 3 })
// @ts-expect-error "adder" gives a number, and takes { a } in the next iteration
void loop({ name: 'again', agents: [codedTyped], maxIterations: 3 })
same<OutputOf<typeof again>, number>(true)
const both = parallel({ name: 'both', agents: [typed, words, text] })
same<InputOf<typeof both>, { topic: string } & { words: number }>(true)
same<OutputOf<typeof both>, [{ words: number }, string, string]>(true)

const arkTyped = agent({
  name: 'arkTyped',
  input: type({ day: 'string.date.iso.parse' }),
  output: type({ 'warm?': 'boolean' }),
  run: (_ctx, { day }) => ({ warm: day.getMonth() > 4 }),
})
same<OutputOf<typeof arkTyped>, { warm?: boolean }>(true)

// what a reader is given of a live part: told apart by its type, in code and over HTTP, to the last form
const shownOf = (part: StreamPart): string => {
  switch (part.type) {
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool-input.delta':
      same<typeof part.text, string>(true)
      return part.text
    case 'tool-input.start':
      return part.name
    case 'text.start':
    case 'text.end':
    case 'reasoning.start':
    case 'reasoning.end':
    case 'tool-input.end':
      // @ts-expect-error the beginning and the end of a block have no text
      void part.text
      return part.id
    case 'tool.progress':
      same<typeof part, ToolProgress>(true)
      return 'progress'
    case 'parts.dropped':
      same<typeof part, PartsDropped>(true)
      return `${part.count}`
    case 'custom':
      same<typeof part.value, Json>(true)
      return 'custom'
    default:
      return part satisfies never
  }
}
export async function reading(runtime: Runtime, remote: RemoteRun): Promise<void> {
  for await (const { part } of runtime.handle('r').parts()) same<typeof part, StreamPart>(true)
  for await (const item of runtime.stream(text, 'x')) if (item.type === 'part') shownOf(item.part.part)
  for await (const { part } of remote.parts()) same<typeof part, StreamPart>(true)
}
