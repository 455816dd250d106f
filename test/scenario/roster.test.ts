/** delegation 10 on a live runtime: the roster changes between runs. */
import { expect, test } from 'vitest'
import { agent, createRuntime, supervisor } from '../../src/index.ts'

test('delegation 10: a worker added while the runtime is open works in the next run, one that was removed does not', async () => {
  const worker = (name: string) => agent({ name, description: `Is ${name}.`, model: () => `${name} was here` })
  let wanted = 'b'
  const lead = supervisor({
    name: 'lead',
    workers: [worker('a')],
    model: ({ messages }) => {
      const last = messages.at(-1)!
      return last.role === 'tool' ? String(last.content) : { calls: [{ name: 'delegate', input: { worker: wanted, instructions: 'go' } }] }
    },
  })
  await using runtime = await createRuntime({ agents: [lead], strict: true })
  lead.add(worker('b'))
  expect(await runtime.run(lead, 'one')).toMatchObject({ status: 'completed', output: 'b was here' })
  lead.remove('b')
  const refused = await runtime.run(lead, 'two')
  expect(refused).toMatchObject({ status: 'completed' })
  expect(refused.status === 'completed' && String(refused.output)).toContain('there is no worker "b"')
  wanted = 'a'
  expect(await runtime.run(lead, 'three')).toMatchObject({ output: 'a was here' })
})
