/** Ids of activations say who stands above whom, and which run each belongs to: also where a worker is placed apart. */
import { expect, test } from 'vitest'
import { childActivation, parentOf, rootActivation, rootRun, runOf, type RunId } from '@reeve/core'

const run = 'run_1' as RunId
const root = rootActivation(run)

test('a worker beside its leader belongs to the run of its leader', () => {
  const worker = childActivation(root, 'turn/call/w')
  expect(worker).toBe('act_run_1>turn/call/w')
  expect([runOf(worker), rootRun(runOf(worker))]).toEqual([run, run])
  expect(parentOf(worker)).toEqual({ parent: root, address: 'turn/call/w', apart: false })
})

test('a worker that is placed apart is the root of a child run; who works below it belongs to that run', () => {
  const leader = childActivation(root, 'a')
  const apart = childActivation(leader, 'b', true)
  const child = 'run_1>a>>b' as RunId
  expect([apart, runOf(apart), rootActivation(child), rootRun(child)]).toEqual([`act_${child}`, child, apart, run])
  expect(parentOf(apart)).toEqual({ parent: leader, address: 'b', apart: true })
  const below = childActivation(apart, 'c')
  expect([runOf(below), parentOf(below)]).toEqual([child, { parent: apart, address: 'c', apart: false }])
  const nested = childActivation(below, 'd', true)
  expect([runOf(nested), rootRun(runOf(nested)), parentOf(nested)?.parent]).toEqual([`${child}>c>>d`, run, below])
})

test('the root of a run that was started from outside has no parent', () => {
  expect(parentOf(root)).toBeUndefined()
})
