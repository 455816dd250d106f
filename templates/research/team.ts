/** A research team: a lead gives three researchers a side of the question each; they work at the same time. */
import { agent, supervisor, type ModelFunction, type ModelRef } from 'reeve'

/** The sides of a question, and who looks at each. */
const sides = { history: 'how it came about', present: 'how it stands today', outlook: 'what comes next' }
const names = Object.keys(sides) as (keyof typeof sides)[]

/** What they say without a model. */
export const rules = {
  lead: ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    return results.length === 0
      ? { calls: names.map((worker) => ({ name: 'delegate', input: { worker, instructions: asked(messages) } })) }
      : `# ${asked(messages)}\n\n${results.map(({ content }) => `- ${typeof content === 'string' ? content : JSON.stringify(content)}`).join('\n')}`
  },
  researcher: ({ messages }) => `A note on "${asked(messages)}", by rules.`,
} satisfies Record<string, ModelFunction>

function asked(messages: Parameters<ModelFunction>[0]['messages']): string {
  const content = messages.find(({ role }) => role === 'user')?.content
  return typeof content === 'string' ? content : JSON.stringify(content)
}

export const researchWith = (models: Readonly<Record<keyof typeof rules, ModelRef>>) =>
  supervisor({
    name: 'lead',
    instructions: 'Delegate the question to all your workers in one turn, then write a short report from their notes.',
    model: models.lead,
    workers: names.map((name) =>
      agent({
        name,
        description: `Finds out ${sides[name]}.`,
        instructions: `Answer with three facts about ${sides[name]}.`,
        model: models.researcher,
      }),
    ),
    limits: { usd: 0.5, minutes: 10 }, // for the whole tree
  })
