/** A planned team: a question becomes a plan of tasks; what does not depend on each other is done at the same time. */
import { agent, team, type ModelFunction, type ModelRef } from 'reeve'
import { z } from 'zod'

/** What they decide without a model. */
export const rules = {
  planner: () =>
    JSON.stringify({
      complexity: 0.5,
      subtasks: [
        { id: 'market', role: 'analyst', description: 'How large is the market?' },
        { id: 'rivals', role: 'analyst', description: 'Who else is in it?' },
        {
          id: 'report',
          role: 'writer',
          description: 'A report from both.',
          dependencies: ['market', 'rivals'],
          taskType: 'synthesis',
        },
      ],
    }),
  analyst: () => 'Half of it is known, by rules.',
  writer: () => '# Report\n\nThe market is worth a look, by rules.',
} satisfies Record<string, ModelFunction>

export const plannedWith = (models: Readonly<Record<keyof typeof rules, ModelRef>>) =>
  team({
    name: 'analysts',
    output: z.string(),
    planner: {
      model: models.planner,
      instructions:
        'Two or three tasks for analysts, then one of taskType "synthesis" for the writer that depends on all of them.',
    },
    roles: {
      analyst: agent({
        name: 'analyst',
        description: 'Answers one question about a market.',
        instructions: 'Answer your task in three sentences.',
        model: models.analyst,
      }),
      writer: agent({
        name: 'writer',
        description: 'Writes the report from what the analysts found.',
        instructions: 'Write a short report from what you are given.',
        model: models.writer,
      }),
    },
    limits: { usd: 0.5, minutes: 10 }, // for the whole team
  })
