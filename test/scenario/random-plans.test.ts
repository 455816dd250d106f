/** Random teams in real time: what is always true of a journal is true on every engine. */
import { expect, test } from 'vitest'
import type { Outcome, PlanResults } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { drawn, wrongWith } from '../../packages/team/test/random-team.ts'
import { runtimeOf } from './team.ts'

test.each([3, 7, 11, 19, 23])(
  'team C101: a random team, seed %d',
  async (seed) => {
    const of = drawn(seed, 8, 40)
    const runtime = await runtimeOf([of.root])
    const run = await runtime.start(of.root as never, 'Go')
    const outcome = (await run.outcome()) as Outcome & { readonly results?: PlanResults }
    const events: Recorded[] = []
    for await (const recorded of run.events()) events.push(recorded)
    expect(wrongWith(of, events, outcome.results, false)).toEqual([])
    const [shown] = (await run.view()).teams
    expect(shown?.plan.tasks.map(({ task, status }) => `${task} ${status}`)).toEqual(
      outcome.results?.tasks.map(({ task, status }) => `${task} ${status}`),
    )
  },
  60_000,
)
