/**
 * A crew with a manager and fixed tasks, as CrewAI has it: agents with a role, a goal and a story, tasks in a given
 * order, and a manager who looks at every result and may order more.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, team, type ModelFunction } from 'reeve'

// #region crew
const crewmate = (role: string, goal: string, story: string, model: ModelFunction) =>
  agent({ name: role, description: goal, instructions: `You are a ${role}. Your goal: ${goal} ${story}`, model })

const crew = team({
  name: 'crew',
  roles: {
    researcher: crewmate(
      'researcher',
      'Find what is new.',
      'You have read everything.',
      () => 'Ravens plan ahead. They trade.',
    ),
    writer: crewmate('writer', 'Write what people like to read.', 'You never bore anybody.', ({ messages }) =>
      JSON.stringify(messages).includes('sources') ? 'Ravens plan ahead (Kabadayi 2017).' : 'Ravens plan ahead.',
    ),
  },
  planner: {
    subtasks: [
      { id: 'research', role: 'researcher', description: 'What is new about ravens?' },
      { id: 'article', role: 'writer', description: 'Write it up.', dependencies: ['research'] },
    ],
  },
  // the manager: looks at every result, and may add tasks, recruit, retire, send mail
  lead: ({ ended, tasks }) =>
    ended.task === 'article' && tasks.length === 2
      ? [
          {
            add: [
              { id: 'revision', role: 'writer', description: 'Once more, with sources.', dependencies: ['article'] },
            ],
          },
        ]
      : [],
  synthesize: ({ results }) => results.at(-1)?.output ?? null,
})
// #endregion

await using runtime = await createRuntime({ agents: [crew] })
const outcome = await runtime.run(crew, 'An article about ravens.')
assert.equal(outcome.status, 'completed')
for (const { task, member, output } of outcome.results!.tasks) console.log(`${member}, ${task}:`, output)
console.log('\nThe crew says:', outcome.output)
assert.equal(outcome.output, 'Ravens plan ahead (Kabadayi 2017).')
