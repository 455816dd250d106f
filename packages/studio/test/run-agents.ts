/**
 * Agents whose runs are looked at once they have ended: an answer that does not fit, Markdown with attacks in it, a text
 * of a book's length, a planned team of nine, a run without a model, and thousands of calls.
 */
import { agent, step, tool, type Agent } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { withFiles, type Json } from '@reeve/core'
import { sequential } from '@reeve/flow'
import type { ModelFunction } from '@reeve/model'
import { team } from '@reeve/team'

const usage = { input: 1_200, output: 80 } as const
/** The texts one after the other, the last one again and again. */
const saying =
  (...texts: readonly string[]): ModelFunction =>
  ({ messages }) => ({
    text: texts[Math.min(messages.filter(({ role }) => role === 'assistant').length, texts.length - 1)]!,
    usage,
  })

/** Answers with prose, then with a text for a number, then without the member that is asked for. */
const estimator = agent({
  name: 'estimator',
  description: 'Estimates what a repair costs.',
  output: {
    type: 'object',
    properties: { total: { type: 'number' }, currency: { type: 'string' } },
    required: ['total', 'currency'],
  },
  model: saying('About twelve euros, I think.', '{"total":"12","currency":"EUR"}', '{"total":12}'),
} as never)

const clerk = agent({ name: 'clerk', description: 'Files the request.', run: () => ({ filed: true }) })

/** Fails as the second of its agents does. */
const workshop = sequential({ name: 'workshop', agents: [clerk, estimator] })

/** Markdown as models write it, and as one writes that wants the reader's browser to do something. */
export const gazetteText = [
  '# Delivery times',
  '',
  'Three suppliers ship **within a week**; `Alba` is the *fastest*.',
  '',
  '1. Alba: 3 days',
  '2. Boreal: 5 days',
  '   - only by road',
  '',
  '| Supplier | Days | Price |',
  '|---|--:|:-:|',
  '| Alba | 3 | 12.50 |',
  '| Boreal | 5 | 9.80 |',
  '',
  '```ts',
  'const days = suppliers.map(({ days }) => days) // <b>not bold</b>',
  '```',
  '',
  '> The prices are those of November.',
  '',
  'See [the price list](https://prices.example.com/november) or <https://alba.example.com>.',
  '',
  '---',
  '',
  '## What a page must not do',
  '',
  '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">',
  '![a picture](https://evil.example.com/pixel.png)',
  '[click me](javascript:document.title="owned")',
  '[data](data:text/html,<script>document.title="owned"</script>)',
  '[your bank](https://evil.example.com/login "bank.example.com")',
  '[https://bank.example.com](https://evil.example.com/login)',
  'p\u0430ypal \u202etxt.exe zero\u200bwidth',
  '[\u202ebank](https://evil.example.com/\u202etxt.exe)',
  '<a href="https://evil.example.com" onclick="alert(1)">link</a>',
].join('\n')

const gazette = agent({ name: 'gazette', description: 'Writes in Markdown.', model: saying(gazetteText) })

const chapter = Array.from(
  { length: 400 },
  (_, i) => `${i + 1}. The parcel left the warehouse at ${i % 24}:00 and nobody knew where it went.`,
).join('\n')

/** A text of several thousand lines. */
const novelist = agent({
  name: 'novelist',
  description: 'Writes a book.',
  model: saying(Array.from({ length: 5 }, (_, i) => `# Chapter ${i + 1}\n\n${chapter}`).join('\n\n')),
})

const nines = ['brief', 'prices', 'routes', 'customs', 'insurance', 'packaging', 'returns', 'draft', 'review'] as const
const specialist = agent({
  name: 'specialist',
  description: 'Does one part.',
  model: saying('This part is **done**: see the table.\n\n| a | b |\n|---|---|\n| 1 | 2 |'),
})
/** A planned team of nine. */
const fleet = team({
  name: 'fleet',
  roles: { specialist },
  planner: {
    subtasks: nines.map((id, i) => ({
      id,
      description: `Work out the part on ${id}.`,
      role: 'specialist',
      ...(i === 0 ? {} : { dependencies: [i < 7 ? 'brief' : nines[i - 1]!] }),
    })),
  },
})

/** Code alone: steps, and no model. */
const walker = agent({
  name: 'walker',
  description: 'Walks in steps.',
  input: { type: 'object', properties: { steps: { type: 'number' } }, required: ['steps'] },
  run: async (ctx: Context, input: { readonly steps: number }): Promise<Json> => {
    for (let i = 0; i < input.steps; i++) await step(ctx, `step ${i + 1}`, () => i)
    return { walked: input.steps }
  },
} as never)

const measure = tool({
  name: 'measure',
  description: 'Measures.',
  effect: 'read',
  input: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
  execute: ({ at }: { at: number }) => ({ at, metres: at * 2 }),
} as never)
/** So many calls of a tool, fifty in each turn. */
const surveyor = agent({
  name: 'surveyor',
  description: 'Measures again and again.',
  tools: [measure] as never,
  limits: { turns: 1_000 },
  model: ({ messages }) => {
    const turns = messages.filter(({ role }) => role === 'assistant').length
    return turns >= 100
      ? 'All is measured.'
      : {
          text: `Round ${turns + 1}.`,
          calls: Array.from({ length: 50 }, (_, i) => ({ name: 'measure', input: { at: turns * 50 + i } })),
          usage,
        }
  },
})

/** Stops at its limit of turns. */
const dawdler = agent({
  name: 'dawdler',
  description: 'Never ends by itself.',
  tools: [measure] as never,
  limits: { turns: 3 },
  model: () => ({ text: 'Once more.', calls: [{ name: 'measure', input: { at: 1 } }], usage }),
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=\'owned\'"><script>owned()</script></svg>'
const page = '<html><script>document.title="owned"</script></html>'
/** A picture of one pixel. */
export const dotPicture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** A tool that shows a picture, and files that are to be taken for one. */
const draw = tool({
  name: 'draw',
  effect: 'read',
  execute: () =>
    withFiles('Drawn.', [
      { data: dotPicture, mediaType: 'image/png', filename: 'dot.png' },
      { data: base64(svg), mediaType: 'image/svg+xml', filename: 'vector.svg' },
      { data: base64(svg), mediaType: 'image/png', filename: 'vector.png' },
      { data: base64(page), mediaType: 'image/png', filename: 'page.png' },
      { data: base64(page), mediaType: 'text/html', filename: 'page.html' },
      { url: 'https://evil.example.com/pixel.png', mediaType: 'image/png' },
    ]),
})
/** Shows them; its model answers with a page that is said to be a picture. */
const sketcher = agent({
  name: 'sketcher',
  description: 'Draws.',
  tools: [draw],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? {
          text: 'That is all.',
          files: [{ type: 'file', mediaType: 'image/png', filename: 'answer.png', data: base64(page) }],
          usage,
        }
      : { calls: [{ name: 'draw', input: {} }], usage },
})

export const runAgents: readonly Agent[] = [
  sketcher,
  clerk,
  estimator,
  workshop,
  gazette,
  novelist,
  fleet,
  walker,
  surveyor,
  dawdler,
]
