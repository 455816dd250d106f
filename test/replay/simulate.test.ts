/** Every representative run, with its process dying at every point where it can. */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { parallel } from '@reeve/flow'
import { scripted, simulate, teamScenario } from '@reeve/testing'
import { calls } from '../scenario/team.ts'
import { scenarios } from './scenarios.ts'

describe('a process that dies', () => {
  for (const scenario of scenarios) {
    test(`K5: ${scenario.name}: dead at every append, commit and release, same outcome and facts; nothing reruns`, async () => {
      const { points, differences, repeated } = await simulate(scenario)
      expect(differences).toEqual([])
      expect(repeated).toEqual([])
      expect(points).toBeGreaterThan(8)
    }, 60_000)
  }
})

describe('what a simulation finds', () => {
  test('branches that wait for people may end in any order: that is no difference', async () => {
    const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
    const payer = (name: string) => agent({ name, model: scripted(calls(['pay', {}]), `${name} paid`), tools: [pay] })
    const report = await simulate(
      teamScenario({
        agents: [parallel({ name: 'both', agents: [payer('w1'), payer('w2')] })],
        input: 'go',
        outside: async (runtime) => {
          for (const { id } of await runtime.questions())
            await runtime
              .decide({ approvalId: id, decision: 'approve' })
              .catch(() => runtime.settleDoubt({ id, happened: true, value: 'paid' }).catch(() => undefined))
        },
      }),
    )
    expect(report.differences).toEqual([])
  }, 60_000)

  test('a timer that nothing moves is named: a model that fails once waits for its next attempt', async () => {
    let asked = 0
    const shaky = agent({
      name: 'shaky',
      model: () => {
        if (asked++ === 0) throw Object.assign(new Error('busy'), { retryable: true })
        return 'fine'
      },
    })
    await expect(simulate(teamScenario({ agents: [shaky], input: 'go' }))).rejects.toThrow(
      /A timer is waited for, due in \d+ ms of the manual clock: move it with outside: .*clock\.advance/,
    )
  }, 60_000)

  test('code outside of steps runs again with each replay, and the report counts it', async () => {
    let happened = 0
    const careless = agent({
      name: 'careless',
      run: async (ctx) => {
        happened++
        return ctx.step('work', () => 'done')
      },
    })
    const { ran, repeated, points } = await simulate(teamScenario({ agents: [careless], input: 'go' }))
    expect([ran, repeated]).toEqual([{ careless: happened }, []])
    expect(happened).toBeGreaterThan(points)
  })
})
