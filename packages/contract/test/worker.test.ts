/** The worker contract over plain agents, and over workers that break it: the kit fails each of them. */
import { describe, expect, test } from 'vitest'
import { workerClaims, workerContract, workerTable, type WorkerClaim, type WorkerResult } from '@reeve/testing'
import { allHonoured, broken, codeWorker, modelWorker } from './worker-subjects.ts'

describe.each([
  ['an agent with a model', modelWorker],
  ['an agent by code', () => codeWorker()],
])('%s', (name, make) => {
  for (const each of workerContract(make, { name }))
    test(`${each.claim}: ${each.name}`, async () => {
      expect(await each.run()).toEqual({ worker: name, case: each.name, claim: each.claim, honoured: true })
    })
})

describe('a worker that claims what it does not honour', () => {
  const faults = (Object.keys(workerClaims) as WorkerClaim[]).flatMap((claim) =>
    broken[claim].map(([fault, said]) => ({ claim, said, fault, what: Object.keys(fault).join(', ') })),
  )
  test.each(faults)('$claim: $what, $said', async ({ claim, fault, said }) => {
    // what is waited for here never comes
    const cases = workerContract(() => codeWorker(fault), { patienceMs: 1_000 }).filter((each) => each.claim === claim)
    const ends = await Promise.allSettled(cases.map((each) => each.run()))
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
    expect(reasons.join('\n')).toMatch(said)
  })
  test('the rest of it is not blamed', async () => {
    const cases = workerContract(() => codeWorker({ edits: 'ignored' })).filter(({ claim }) => claim !== 'edits')
    for (const each of cases) expect((await each.run()).honoured).toBe(true)
  })
})

describe('what is not claimed', () => {
  test('is a row of the table, and is not played', async () => {
    const honours = {
      ...allHonoured,
      approval: 'it has no approvals',
      edits: false,
      reasons: false,
      usage: false,
    } as const
    const results: WorkerResult[] = []
    for (const each of workerContract(() => codeWorker({ publishes: 'before', usage: 'unknown' }, honours), {
      name: 'odd',
    }))
      results.push(await each.run())
    expect(workerTable(results)).toBe(
      [
        '| claim | odd |',
        '| --- | --- |',
        '| brief | yes |',
        '| result | yes |',
        '| failure | yes |',
        '| cancel | yes |',
        '| timeout | yes |',
        '| approval | no |',
        '| edits | no |',
        '| reasons | no |',
        '| question | yes |',
        '| usage | no |',
        '| streaming | yes |',
        '| crash | partly |',
        '| finished | yes |',
        '',
        '- odd, approval (an action that is approved): it has no approvals',
        '- odd, approval (an action that is rejected): it has no approvals',
        '- odd, edits (an action that an approver has edited): not claimed',
        '- odd, reasons (the reason of a rejection): not claimed',
        '- odd, usage (two turns are counted as two): not claimed',
        '- odd, crash (a kill while it waits for an approval): needs approval: it has no approvals',
      ].join('\n'),
    )
  })
  test('has to be said: a claim that is left out fails', async () => {
    const { usage: _usage, ...silent } = allHonoured
    const [first] = workerContract(() => codeWorker({}, silent as typeof allHonoured))
    await expect(first!.run()).rejects.toThrow(/does not say whether it honours usage/)
  })
  test('a claim without a result is shown as unknown', () => {
    const result = { worker: 'new', case: 'an answer is the output', claim: 'result', honoured: true } as const
    expect(workerTable([result])).toContain('| brief | – |\n| result | yes |')
  })
})
