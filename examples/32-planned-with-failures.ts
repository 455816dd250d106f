/**
 * A question is decomposed by a model (here a rule), and some of its parts fail. Up to half of them may: then the
 * answer is partial, and says what is missing. Where nothing may fail, the plan is given up, and what there is comes
 * with the failure.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, team, type ModelFunction } from 'reeve'
import { teammate } from 'reeve/team'
import { z } from 'zod'

// #region planner
/** Decomposes as a model does: a plan as JSON. */
const planner: ModelFunction = () =>
  JSON.stringify({
    complexity: 0.6,
    subtasks: ['Oslo', 'Riga', 'Turku', 'Visby'].map((city) => ({
      id: city.toLowerCase(),
      role: 'forecaster',
      description: `The weather in ${city}.`,
    })),
  })

const forecaster = agent({
  name: 'forecaster',
  description: 'Knows the weather of a city.',
  run: (_ctx, brief) => {
    if (/Turku/.test(brief)) throw new Error('the station does not answer')
    if (/Visby/.test(brief)) return { success: false, error: 'there is no station' } // it says of itself that it failed
    return `${/in (\w+)/.exec(brief)?.[1]}: rain, then sun.`
  },
})
// #endregion

// #region teams
const weather = team({
  name: 'weather',
  output: z.string(),
  planner: { model: planner, instructions: 'One task for each city.' },
  roles: { forecaster },
  retry: { backoffMs: 0 },
})
const careful = team({
  name: 'careful',
  planner: { model: planner },
  roles: { forecaster },
  retry: { backoffMs: 0 },
  tolerance: 'critical',
})
// #endregion

// #region order
const sailor = agent({
  name: 'sailor',
  description: 'Says where to sail.',
  run: (ctx) =>
    Object.entries(teammate(ctx).inputs)
      .map(([task, { status }]) => `${task}: ${status === 'succeeded' ? 'sail there' : 'stay away'}`)
      .join('; '),
})
const voyage = team({
  name: 'voyage',
  output: z.string(),
  roles: { forecaster, sailor },
  retry: { backoffMs: 0 },
  budget: { tokens: 20_000, perTask: { tokens: 5_000 } },
  planner: {
    subtasks: [
      { id: 'oslo', role: 'forecaster', description: 'The weather in Oslo.' },
      { id: 'turku', role: 'forecaster', description: 'The weather in Turku.' },
      {
        id: 'course',
        role: 'sailor',
        description: 'Where to sail.',
        dependencies: ['oslo', 'turku'],
        taskType: 'synthesis',
      },
    ],
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [weather, careful, voyage] })
// #region results
const outcome = await runtime.run(weather, 'What is the weather around the Baltic?')
assert.equal(outcome.status, 'completed') // two of four may fail
console.log(outcome.output)
const { coverage, partial, tasks } = outcome.results!
console.log(`${coverage.succeeded} of ${coverage.planned}${partial ? ', partial' : ''}`)
for (const { task, status, attempts, failure } of tasks)
  console.log(`- ${task}: ${status} (tries: ${attempts})${failure === undefined ? '' : `, ${failure.message}`}`)

const given = await runtime.run(careful, 'What is the weather around the Baltic?')
assert.equal(given.status, 'failed') // the first failure is one too many
console.log(
  `\n${given.failure.code}: ${given.failure.message}; what there was: ${given.results!.tasks.filter(({ status }) => status === 'succeeded').length} results`,
)
// #endregion
assert.deepEqual(coverage, { succeeded: 2, planned: 4 })
assert.equal(partial, true)
assert.match(outcome.output, /turku/)
assert.equal(given.failure.code, 'team.too-many-failures')

const sailed = await runtime.run(voyage, 'Where do we sail?')
assert.equal(sailed.status === 'completed' && sailed.output, 'oslo: sail there; turku: stay away')
