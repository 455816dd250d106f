/** Random teams on the adversarial engine: words, births and ends are lost, doubled and late, and what must be true of a journal is. */
import { expect, test } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import { registerAgents, startRequest } from '../../src/runtime/index.ts'
import { AdversarialEngine, checkJournal, verifyJournal } from '../../src/testing/index.ts'
import { drawn, wrongWith } from './random-team.ts'

const from = Number(process.env['FUZZ_FROM'] ?? 1)
const seeds = Number(process.env['FUZZ'] ?? 6)

test.each(Array.from({ length: seeds }, (_, i) => from + i))(
  'team C101: a random team in bad weather, seed %d',
  async (seed) => {
    const of = drawn(seed, 8, 20)
    const registry = registerAgents([of.root], [], 'move')
    const engine = new AdversarialEngine({ seed: `${seed}`, strict: true })
    engine.drive(registry)
    const run = 'run_bad' as RunId
    await engine.start(startRequest(registry.require(of.root), 'Go', { runId: run }))
    const { outcome } = await engine.outcome(run)
    const events = await engine.read(run)
    const { results } = outcome
    expect([
      ...wrongWith(of, events, results, false),
      ...checkJournal(events),
      ...(await verifyJournal(events, registry)).problems,
    ]).toEqual([])
    await engine.close()
  },
  60_000,
)
