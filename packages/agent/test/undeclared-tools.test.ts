/** The hint at tools that say nothing of their effect: while a team is developed, once for each in a process. */
import { afterEach, expect, test, vi } from 'vitest'
import { agent, tool } from '../src/index.ts'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'

afterEach(() => vi.unstubAllEnvs())

const execute = () => 'done'
/** A team whose worker has undeclared tools; each test has a worker of its own, because a process hints once. */
const crew = (worker: string, ...tools: readonly string[]) =>
  supervisor({
    name: 'lead',
    model: () => 'hi',
    workers: [
      agent({
        name: worker,
        description: 'Works.',
        model: () => 'hi',
        tools: [tool({ name: 'look', effect: 'read', execute }), ...tools.map((name) => tool({ name, execute }))],
      }),
    ],
  })

async function hintsFor(agents: Parameters<typeof crew>): Promise<readonly string[]> {
  const said: string[] = []
  const onWarning = (code: string, message: string): void => void said.push(`${code}: ${message}`)
  await using _runtime = await createRuntime({ agents: [crew(...agents)], onWarning })
  return said
}

test('names each tool of each agent once, with what follows and what to do', async () => {
  vi.stubEnv('NODE_ENV', '')
  const said = await hintsFor(['one', 'mail', 'pay'])
  expect(said).toEqual([expect.stringMatching(/^tool\.undeclared: .*"mail", "pay" of agent "one"\. .*Declare effect/)])
  expect(await hintsFor(['one', 'mail', 'pay'])).toEqual([])
  expect(await hintsFor(['one', 'mail', 'pay', 'write'])).toEqual([expect.stringContaining('"write" of agent "one"')])
})

test('nothing where all tools declare theirs', async () => {
  vi.stubEnv('NODE_ENV', '')
  expect(await hintsFor(['two'])).toEqual([])
})

test.each(['production', 'test'])('nothing with NODE_ENV=%s', async (env) => {
  vi.stubEnv('NODE_ENV', env)
  expect(await hintsFor([`three-${env}`, 'mail'])).toEqual([])
})
