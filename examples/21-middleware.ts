/**
 * Around a model agent: middleware counts tokens and rejects an answer once; instructions are filled from what another
 * agent has kept; the last turn that is allowed is for an answer. Hooks are called in an order that is written down
 * here, and checked.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, sequential, tool, type Middleware } from 'reeve'

const order: string[] = []
const note = (text: string): void => void order.push(text)
const counts = { input: 0, output: 0, answers: 0 }

// #region middleware
const meter: Middleware = {
  name: 'meter',
  afterModel: ({ usage }, { turn }) => {
    note(`meter hears turn ${turn}`)
    counts.answers++
    counts.input += usage?.input ?? 0 // a provider may not say
    counts.output += usage?.output ?? 0
  },
}
const brief: Middleware = {
  name: 'brief',
  instructions: 'Answer in at most five words.', // added to the agent's own
  afterModel: ({ text }, { turn, values }) => {
    note(`brief hears turn ${turn}`)
    if (text.split(' ').length <= 5 || values.get('asked') === true) return
    values.set('asked', true) // kept for this activation, and made again on replay
    return { again: 'Too long. At most five words.' } // sent as a user message; the model is asked once more, which is another turn
  },
  after: (outcome) => note(`brief sees the end: ${outcome.status}`),
}
// #endregion

// #region agents
const chooser = agent({ name: 'chooser', model: () => 'ravens', outputKey: 'topic' }) // its output is kept as the session value `topic`
const writer = agent({
  name: 'writer',
  instructions: 'You write about {topic}. Other {braces} stay as they are.',
  templating: true, // `{topic}` is filled when the agent begins
  model: ({ messages }) => {
    assert.equal(
      messages[0]!.content,
      'You write about ravens. Other {braces} stay as they are.\n\nAnswer in at most five words.',
    )
    const told = messages.filter(({ role }) => role === 'user').length
    const rejected = messages.at(-1)!.content === 'Too long. At most five words.'
    assert.ok(told > 0)
    return {
      text: rejected ? 'Ravens remember faces.' : 'It is well known that ravens remember faces.',
      usage: { input: 20, output: 8 },
    }
  },
  middleware: [meter, brief], // the first is outermost
})
// #endregion

// #region last
const searcher = agent({
  name: 'searcher',
  limits: { turns: 3 },
  lastAnswer: true, // the third turn has no tools, and asks for an answer from the results so far
  tools: [tool({ name: 'search', effect: 'read', execute: () => 'nothing yet' })],
  model: ({ tools }) =>
    tools.length > 0 ? { calls: [{ name: 'search', input: {} }] } : 'I found nothing in two searches.',
})
// #endregion

await using runtime = await createRuntime({
  agents: [sequential({ name: 'report', agents: [chooser, writer] }), searcher],
})
const outcome = await runtime.run('report', 'One line, please.')
console.log(outcome.status === 'completed' ? outcome.output : outcome)
console.log(order.join('\n'))
console.log(counts)
assert.equal(outcome.status === 'completed' && outcome.output, 'Ravens remember faces.')
// #region order
assert.deepEqual(order, [
  'brief hears turn 1', // innermost, so it is called first; it rejects, and outer ones do not see that answer
  'brief hears turn 2',
  'meter hears turn 2',
  'brief sees the end: completed',
])
assert.deepEqual(counts, { input: 20, output: 8, answers: 1 }) // of two answers; as `[brief, meter]` it counts both
// #endregion
const searched = await runtime.run('searcher', 'Find the raven.')
console.log(searched.status === 'completed' ? searched.output : searched)
assert.equal(searched.status === 'completed' && searched.output, 'I found nothing in two searches.')
