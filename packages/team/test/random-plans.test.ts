/**
 * Random teams on a clock: whatever a plan, its members and its rules are, some things are always true of its journal.
 */
import { expect, test } from 'vitest'
import type { Outcome, PlanResults } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { checkJournal, teamScenario, verifyJournal } from '@reeve/testing'
import { drawn, wrongWith } from './random-team.ts'
import { staged } from './trace.ts'

const from = Number(process.env['FUZZ_FROM'] ?? 1)
const seeds = Number(process.env['FUZZ'] ?? 80)

/** What each activation has recorded, and when: two of them that work in the same moment may do so in either order. */
const facts = (events: readonly Recorded[]): readonly string[] => {
  const lines = events.map(({ at, activation, event }) => ({
    activation,
    line: JSON.stringify([at, activation, event]),
  }))
  const byActivation = [...Map.groupBy(lines, ({ activation }) => activation)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  )
  return byActivation.flatMap(([, own]) => own.map(({ line }) => line))
}

test('team R-4: random teams: each task ends once and on time; failures, coverage, views and replay are right', async () => {
  const found: string[] = []
  for (let seed = from; seed < from + seeds; seed++) {
    const of = drawn(seed)
    const stage = await staged(of.root)
    const { outcome, events } = await stage.end()
    const { results } = outcome as Outcome & { readonly results?: PlanResults }
    const { registry } = teamScenario({ agents: [of.root], input: 'Go' })
    const wrong = [
      ...wrongWith(of, events, results),
      ...checkJournal(events),
      ...(await verifyJournal(events, registry)).problems,
    ]
    const [shown] = (await stage.run.view()).teams
    const told = (each: { readonly task: string; readonly status: string; readonly attempts: number }): string =>
      `${each.task} ${each.status} ${each.attempts}`
    const viewed = JSON.stringify([shown?.coverage, shown?.plan.tasks.map(told)])
    const ended = JSON.stringify([results?.coverage, results?.tasks.map(told)])
    if (viewed !== ended) wrong.push(`the view shows ${viewed}, the outcome ${ended}`)
    if (seed % 5 === 0) {
      const again = await (await staged(drawn(seed).root)).end()
      const [one, other] = [facts(events), facts(again.events)]
      const at = one.findIndex((each, i) => each !== other[i])
      if (at !== -1 || one.length !== other.length)
        wrong.push(`played again, it differs at ${at}: ${one[at]} / ${other[at]}`)
    }
    if (wrong.length > 0) found.push(`seed ${seed}: ${wrong.slice(0, 4).join('\n    ')}`)
    await stage.runtime.close()
  }
  expect(found).toEqual([])
}, 600_000)
