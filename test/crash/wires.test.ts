/**
 * Teams of the four systems on every wire, killed with `kill -9` while their models answer, and met by a dead stream in
 * the life after it: no deed is done twice, what was under way counts as unknown, the provider refuses nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { createRuntime, registerAgents } from '@reeve/runtime'
import {
  strictProvider,
  strictProviderNames,
  verifyJournal,
  type ProviderReply,
  type ProviderRequest,
} from '@reeve/testing'
import type { Recorded } from '@reeve/journal'
import { inFolder } from './hand.ts'
import { receipt, systems, systemsOn, type System } from './wire-systems.ts'

/** Who asks: the role and the system of the instructions. */
function asks({ text }: ProviderRequest): { readonly role: string; readonly system: System } {
  const [, role = '', system = ''] = /You are the (\w+) of (\w+)\./.exec(text) ?? []
  return { role, system: system as System }
}

/** What a member of these teams answers. `paid`: what a payer says that has its receipt. */
function answerOf(request: ProviderRequest, paid: () => ProviderReply): ProviderReply {
  const { role, system } = asks(request)
  if (role === 'payer')
    return request.text.includes(receipt) ? paid() : { calls: [{ name: 'pay', input: { invoice: 'A' } }] }
  if (role === 'writer') return 'It is written.'
  const instructed = { worker: `${system}_payer`, instructions: 'Pay.' }
  return request.text.includes('It is paid') ? 'All is done.' : { calls: [{ name: 'delegate', input: instructed }] }
}

test.each(strictProviderNames)('%s', { timeout: 60_000 }, async (preset) => {
  const store = inFolder()
  const deeds = join(dirname(store), 'deeds')
  let life = 1
  const spoiled = new Set<System>()
  await using provider = await strictProvider({
    preset,
    answer: (request) =>
      answerOf(request, () => {
        const text = ['It is ', 'paid', ' by me.']
        if (life === 1) return { text, breaks: { with: 'stall', after: 1 } }
        const { system } = asks(request)
        if (spoiled.has(system)) return { text }
        spoiled.add(system)
        return { text, breaks: { with: 'reset', after: 2 } }
      }),
  })
  const child = spawn(
    process.execPath,
    [
      '--no-warnings',
      join(import.meta.dirname, 'wire-systems.ts'),
      store,
      deeds,
      provider.model,
      JSON.stringify(provider.options),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const gone = once(child, 'exit')
  await Promise.race([
    provider.stalled(systems.length),
    gone.then(() => Promise.reject(new Error('the process ended by itself'))),
  ])
  child.kill('SIGKILL')
  await gone
  life = 2
  const before = provider.requests.length
  const agents = systemsOn(provider.resolve(), deeds)
  await using runtime = await createRuntime({ store, agents })
  for (const system of systems) {
    const run = runtime.handle(system)
    const outcome = await run.outcome()
    expect([system, outcome.status]).toEqual([system, 'completed'])
    // its call, the one that was killed, the one whose stream died, the one that was answered
    expect(outcome.usage.find((row) => row.agent === `${system}_payer`)).toMatchObject({ calls: 4, unknown: 2 })
    const recorded: Recorded[] = []
    for await (const event of run.events()) recorded.push(event)
    expect((await verifyJournal(recorded, registerAgents(agents, [], 'move'))).problems).toEqual([])
  }
  expect(readFileSync(deeds, 'utf8').trim().split('\n').toSorted()).toEqual([...systems].toSorted())
  expect(provider.refused).toEqual([])
  const keysOf = (requests: readonly ProviderRequest[]): readonly string[] =>
    requests
      .filter((request) => asks(request).role === 'payer' && request.text.includes(receipt))
      .map(({ headers }) => headers['idempotency-key'] ?? '')
      .toSorted()
  const killed = keysOf(provider.requests.slice(0, before))
  expect(killed).toHaveLength(systems.length)
  expect(new Set(keysOf(provider.requests.slice(before)))).toEqual(new Set(killed))
})
