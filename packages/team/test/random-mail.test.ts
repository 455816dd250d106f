/**
 * Teams that mail, wait, recruit, retire and publish at random: what must hold whatever they do, on a clock that moves
 * when nothing else can, and on an engine that delays, repeats and reorders. Spec team 1.7, 1.8 (R-8, R-8b), 1.9
 * C101.
 */
import { describe, expect, test } from 'vitest'
import type { Recorded, TeamView } from '@reeve/journal'
import { createRuntime, registerAgents } from '@reeve/runtime'
import type { TeamOptions } from '../src/index.ts'
import { adversarialEngine } from '../../contract/src/index.ts'
import { verifyJournal } from '@reeve/testing'
import { fastClock } from '../../../test/scenario/team.ts'
import { chaoticCrew, faults, type Seen } from './chaotic-crew.ts'
import { staged } from './trace.ts'

async function playedBy(seed: number): Promise<{
  readonly events: readonly Recorded[]
  readonly view: TeamView
  readonly seen: readonly Seen[]
  readonly options: TeamOptions<string>
}> {
  const seen: Seen[] = []
  const { root, options } = chaoticCrew(seed, seen)
  const stage = await staged(root)
  await stage.until()
  const outcome = await Promise.race([
    stage.run.outcome(),
    new Promise<undefined>((resolve) => setTimeout(resolve, 3_000, undefined)),
  ])
  if (outcome === undefined) throw new Error(`seed ${seed} hangs`)
  const events: Recorded[] = []
  for await (const each of stage.run.events()) events.push(each)
  const view = (await stage.run.view()).teams[0]!
  await stage.runtime.close()
  return { events, view, seen, options }
}

const first = Number(process.env['EXAM_FROM'] ?? 0)
const count = Number(process.env['EXAM_COUNT'] ?? 40)
describe('all members’ actions', () => {
  test(`C101: ${count} random teams: runs end, mail is numbered, kept, read once; no one returns or exceeds`, async () => {
    const wrong: string[] = []
    for (let seed = first; seed < first + count; seed++) {
      try {
        const { events, view, seen, options } = await playedBy(seed)
        wrong.push(...faults(events, view, seen, options).map((each) => `seed ${seed}: ${each}`))
      } catch (thrown) {
        wrong.push(`seed ${seed}: ${String(thrown)}`)
      }
    }
    expect(wrong).toEqual([])
  }, 600_000)

  test('C101: over a slow, failing, forgetful store the same holds, and every journal replays to itself', async () => {
    const wrong: string[] = []
    for (let seed = first; seed < first + count / 4; seed++) {
      const seen: Seen[] = []
      const { root, options } = chaoticCrew(seed, seen)
      const engine = adversarialEngine({ seed: `mail ${seed}`, strict: true, clock: fastClock() })
      const runtime = await createRuntime({ engine, agents: [root] })
      try {
        const run = await runtime.start(root, 'Go')
        const ended = await Promise.race([
          run.outcome(),
          new Promise<undefined>((resolve) => setTimeout(resolve, 10_000, undefined)),
        ])
        if (ended === undefined) {
          wrong.push(`seed ${seed} hangs`)
          continue
        }
        const events: Recorded[] = []
        for await (const each of run.events()) events.push(each)
        const view = (await run.view()).teams[0]!
        const { problems } = await verifyJournal(events, registerAgents([root], [], 'move'))
        wrong.push(...[...faults(events, view, undefined, options), ...problems].map((each) => `seed ${seed}: ${each}`))
      } finally {
        await runtime.close()
      }
    }
    expect(wrong).toEqual([])
  }, 600_000)
})
