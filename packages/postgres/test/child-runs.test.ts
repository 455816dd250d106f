/**
 * One large run on several processes: its workers that are placed apart are child runs, which any process of the store
 * takes up.
 */
import { afterEach, expect, test } from 'vitest'
import { asText } from '@reeve/core'
import { agent, createRuntime, supervisor, type Runtime } from '@reeve/public'
import { freshPostgres } from '../../../test/servers/postgres.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

test('the child runs of one run are shared by the processes of the store; their leader hears every end', async () => {
  const { server, schema, dispose } = await freshPostgres()
  undo.push(dispose)
  const worked = new Map<string, string[]>()
  const count = 40
  const team = (process: string) => {
    const writer = agent({
      name: 'writer',
      description: 'Writes.',
      model: async ({ messages }) => {
        worked.set(process, [...(worked.get(process) ?? []), asText(messages.at(-1)!.content)])
        // each holds its process for a moment, so that one process alone is not faster than the news of the others
        await new Promise((resolve) => setTimeout(resolve, 20))
        return 'written'
      },
    })
    return supervisor({
      name: 'lead',
      description: 'Leads.',
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'done'
          : {
              calls: Array.from({ length: count }, (_, i) => ({
                name: 'delegate',
                input: { worker: 'writer', instructions: `chapter ${i}` },
              })),
            },
      workers: [writer],
      limits: { turns: 1_000 },
      delegation: { workers: { writer: { place: 'apart' } } },
    })
  }
  const open = async (process: string): Promise<Runtime> => {
    const runtime = await createRuntime({ store: `${server}?schema=${schema}`, agents: [team(process)] })
    undo.push(() => runtime.close())
    return runtime
  }
  const [one] = [await open('one'), await open('two'), await open('three')]
  const run = await one.start('lead', 'Write the book.')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  expect([...worked.values()].flat().toSorted()).toEqual(
    Array.from({ length: count }, (_, i) => `chapter ${i}`).toSorted(),
  )
  expect([...worked.keys()].length).toBeGreaterThan(1)
  expect(
    (await run.view()).activations.filter(({ apart, outcome }) => apart === true && outcome?.status === 'completed'),
  ).toHaveLength(count)
})
