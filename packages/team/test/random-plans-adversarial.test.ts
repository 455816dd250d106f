/**
 * Random teams over a store that answers late, fails, and lets other processes take runs away: what must be true of a
 * journal is.
 */
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { registerAgents, startRequest } from '@reeve/runtime'
import { adversarialEngine, badWeather, storm, type Weather } from '../../contract/src/index.ts'
import { checkJournal, verifyJournal } from '@reeve/testing'
import { drawn, wrongWith } from './random-team.ts'

const from = Number(process.env['FUZZ_FROM'] ?? 1)
const seeds = Number(process.env['FUZZ'] ?? 6)
const weathers: Readonly<Record<string, Weather>> = { 'bad weather': badWeather, 'a storm': storm }

test.each(
  Array.from({ length: seeds }, (_, i) => from + i).flatMap((seed) =>
    Object.keys(weathers).map((weather) => [weather, seed] as const),
  ),
)(
  'team C101: a random team in %s, seed %d',
  async (weather, seed) => {
    const of = drawn(seed, 8, 20)
    const registry = registerAgents([of.root], [], 'move')
    const engine = adversarialEngine({ seed: `${seed}`, weather: weathers[weather]!, strict: true })
    await engine.drive(registry)
    const run = 'run_bad' as RunId
    await engine.start(startRequest(registry.require(of.root), 'Go', { runId: run }))
    const { outcome } = await engine.outcome(run)
    const events = await engine.read(run)
    const { results } = outcome
    expect([
      ...wrongWith(of, events, results, false),
      ...checkJournal(events),
      ...(await verifyJournal(events, registry)).problems,
      ...engine.store.faults,
    ]).toEqual([])
    await engine.close()
  },
  60_000,
)
