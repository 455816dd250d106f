/**
 * How to write a good supervisor: instructions that name the resources, when each is used, in which order, and what a
 * finished answer is; workers whose descriptions say what they do, what they return, and when to use them; and the
 * success criteria once more as code, where they do not depend on a model's judgement.
 *
 * `node examples/39-good-supervisor.ts` thinks by rules; `--model openai/gpt-5-mini` lets a model think in their place.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor, type ModelFunction, type ModelRef } from 'reeve'
import { describeOutcome } from 'reeve/views'

type Prompt = Parameters<ModelFunction>[0]
const at = process.argv.indexOf('--model')
const id = at < 0 ? undefined : process.argv[at + 1]
const brain = (rule: ModelFunction): ModelRef => id ?? rule
const results = ({ messages }: Prompt): readonly string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' && typeof content === 'string' ? [content] : []))
const delegate = (worker: string, instructions: string) => ({
  calls: [{ name: 'delegate', input: { worker, instructions } }],
})

// #region team
const researcher = agent({
  name: 'researcher',
  // what it does; what it returns; when to use it
  description:
    'Gathers facts and sources on one question. Returns bullet points, each with its source. Use it before anything is written.',
  instructions:
    'Find what is known. Answer with three bullet points; end each with its source in brackets. Only the points.',
  model: brain(() => '- Ravens plan ahead (Kabadayi 2017).'),
})
const writer = agent({
  name: 'writer',
  description:
    'Turns given facts into paragraphs. Returns plain text. Use it only with the facts in the instructions: it looks up nothing.',
  instructions: 'Write one paragraph from the facts that you are given. Keep every source.',
  model: brain(
    ({ messages }) => `It is known that ${JSON.stringify(messages.at(-1)?.content).split('- ').at(-1)?.slice(0, -1)}`,
  ),
})
const newsroom = supervisor({
  name: 'newsroom',
  workers: [researcher, writer],
  instructions: `You coordinate research and writing.

How you work:
1. For facts: delegate to the researcher, one question for each delegation. Independent questions go into one turn.
2. For a text: delegate to the writer, with the facts word for word in the instructions.
3. For both: research first, then write. If the writer's text is the answer, forward it.

You are done when:
- every part of the question is answered,
- every claim has its source in brackets,
- the answer is a text, not notes.`,
  model: brain((prompt) => {
    const [facts, text] = results(prompt)
    if (facts === undefined)
      return delegate('researcher', 'What is known about how ravens plan? Three points, with sources.')
    return text === undefined
      ? delegate('writer', `Write one paragraph. The facts:\n${facts}`)
      : { calls: [{ name: 'forward_message', input: { worker: 'writer' } }] }
  }),
  // what can be checked by code is not left to the instructions
  isComplete: {
    scorers: [
      {
        name: 'has_sources',
        score: ({ text }) => ({ score: /\(.+\)/.test(text) ? 1 : 0, reason: 'no claim has its source in brackets' }),
      },
    ],
  },
  limits: { turns: 10, minutes: 5 },
})
// #endregion

await using runtime = await createRuntime({ agents: [newsroom] })
const outcome = await runtime.run(newsroom, 'Write a paragraph on how ravens plan.')
console.log(outcome.status === 'completed' ? outcome.output : describeOutcome(outcome))
assert.equal(outcome.status, 'completed')
if (id === undefined) assert.equal(outcome.output, 'It is known that Ravens plan ahead (Kabadayi 2017).')
