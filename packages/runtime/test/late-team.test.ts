/** The code of a planned team's run is loaded by those who run one, also where a leader is given the team later. */
import { expect, test } from 'vitest'
import { agent, supervisor } from '@reeve/public'
import { team } from '@reeve/team'
import { scripted } from '@reeve/testing'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

// alone in its file: whatever else runs a planned team here would have loaded the code
test('K3: a planned team that joins after the runtime was made works at once', async () => {
  const writer = agent({ name: 'writer', description: 'Writes.', run: async () => 'a line' })
  const lead = supervisor({
    name: 'lead',
    workers: [agent({ name: 'idle', description: 'Does nothing.', run: async () => '' })],
    model: scripted({ calls: [{ name: 'delegate', input: { worker: 'press', instructions: 'go' } }] }, 'done'),
  })
  await using runtime = await createRuntime({ agents: [lead] })
  lead.add(
    team({
      name: 'press',
      description: 'Prints.',
      roles: { generalist: writer },
      planner: { subtasks: [{ id: 'A', description: 'write' }] },
      route: 'team',
    }),
  )
  const run = await runtime.start(lead, 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  const settled = (await run.journal()).filter(({ event }) => event.type === 'worker.settled')
  expect(settled.map(({ event }) => 'outcome' in event && event.outcome)).toContainEqual(
    expect.objectContaining({ status: 'completed', output: expect.stringContaining('a line') as string }),
  )
})
