/**
 * A pair in the background: the leader gives two workers their work, goes on talking, and reacts to each as soon as it
 * has ended. Meanwhile nothing waits for the slower one, and the run does not end before both were heard. Prints who is
 * at work whenever the leader says something.
 *
 * They think by rules. With `--model openai/gpt-5-mini`, or any other id, the same team thinks with that model.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { agent, createRuntime, supervisor, type ModelFunction, type ModelRef } from 'reeve'
import { describeOutcome } from 'reeve/views'

const { model } = parseArgs({ options: { model: { type: 'string' } } }).values
const brain = (rule: ModelFunction): ModelRef => model ?? rule

// #region rules
/** Answers after a while. */
const after =
  (ms: number, text: string): ModelFunction =>
  async () => {
    await pause(ms)
    return text
  }

/** Reads the result of its delegation: a placeholder while the worker is active, then the result. */
const lead: ModelFunction = ({ messages }) => {
  const results = messages.flatMap((message) =>
    message.role === 'tool' && typeof message.content === 'string' ? [message.content] : [],
  )
  const [weather, trains] = results
  const isOpen = (result = ''): boolean => result.includes('works in the background')
  if (weather === undefined)
    return {
      calls: [
        { name: 'delegate', input: { worker: 'weather', instructions: 'Will it rain in Bern tomorrow?' } },
        {
          name: 'delegate',
          input: { worker: 'trains', instructions: 'Which trains go from Basel to Bern before nine?' },
        },
      ],
    }
  if (isOpen(weather) && isOpen(trains))
    return 'I have asked about the weather and the trains. Tell me meanwhile: who comes along?'
  if (isOpen(weather)) return `The trains I know already: ${trains}`
  if (isOpen(trains)) return `The weather I know already: ${weather}`
  return `${weather} ${trains}`
}
// #endregion

// #region team
const weather = agent({
  name: 'weather',
  description: 'Knows the weather.',
  model: brain(after(300, 'It will rain from ten.')),
})
const trains = agent({
  name: 'trains',
  description: 'Knows the timetable.',
  model: brain(after(50, 'There is one at 8:04.')),
})
const guide = supervisor({
  name: 'guide',
  instructions:
    'Plan a day out. Give both workers their work at once, and say something useful whenever one of them has answered.',
  model: brain(lead),
  workers: [weather, trains],
  delegation: {
    background: { workers: ['weather', 'trains'], concurrency: 2, react: 'each' },
    timeoutMs: 60_000, // of work: while a human is asked, the clock stands
    retry: { attempts: 2, backoffMs: 1_000 },
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [guide] })
console.log(`brain: ${model ?? 'rules (no model)'}`)
// #region watch
const run = await runtime.start(guide, 'We want to go to Bern tomorrow.')
const said: string[] = []
for await (const message of run.messages()) {
  if (message.type !== 'assistant' || message.agent !== 'guide' || message.text === '') continue
  const atWork = (await run.view()).activations.filter(
    ({ state, parent }) => parent !== undefined && state === 'running',
  )
  console.log(`guide: ${message.text}   (at work: ${atWork.map((each) => each.agent).join(', ') || 'nobody'})`)
  said.push(message.text)
}
const outcome = await run.outcome()
// #endregion
assert.equal(outcome.status, 'completed', describeOutcome(outcome))
if (model === undefined)
  assert.deepEqual(said, [
    'I have asked about the weather and the trains. Tell me meanwhile: who comes along?',
    'The trains I know already: There is one at 8:04.',
    'It will rain from ten. There is one at 8:04.',
  ])
