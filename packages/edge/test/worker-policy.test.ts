/** The policy of a delegation: one for each exception that a definition makes, however many workers there come to be. */
import { expect, test } from 'vitest'
import { policyFor, type Delegation } from '../../supervisor/src/delegation/options.ts'

test('workers without options of their own share one policy; each exception has its own, in each definition', () => {
  const critic = { limits: { turns: 2 } }
  const given: Delegation<string> = { limits: { turns: 9 }, workers: { critic, other: { memory: 'continue' } } }
  const shared = policyFor(given, 'worker-0')
  for (let i = 1; i < 100; i++) expect(policyFor(given, `worker-${i}`)).toBe(shared)
  expect(policyFor(given, 'toString')).toBe(shared)
  expect(shared.grant.limits).toEqual({ turns: 9 })
  expect(policyFor(given, 'critic')).toBe(policyFor(given, 'critic'))
  expect(policyFor(given, 'critic').grant.limits).toEqual({ turns: 2 })
  expect(policyFor(given, 'other')).toMatchObject({ memory: 'continue', grant: { limits: { turns: 9 } } })
  const stricter: Delegation<string> = { limits: { turns: 1 }, workers: { critic } }
  expect(policyFor(stricter, 'critic').grant.limits).toEqual({ turns: 1 })
})
