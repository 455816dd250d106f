/**
 * The contract of a store (engine/store.ts), as a list of cases that any test runner can bind: what the host relies on,
 * each promise for itself. A store that holds them all may stand under the host; where one cannot hold a case it says
 * why (`skip`).
 */
import { allRunsCases } from './all-runs.ts'
import { claimCases } from './claims.ts'
import { commitCases } from './commits.ts'
import { contentCases } from './contents.ts'
import { deadlineCases } from './deadlines.ts'
import { leaseCases } from './leases.ts'
import { mailCases } from './mail.ts'
import { openCases } from './open.ts'
import { partCases } from './parts.ts'
import { pastCases } from './history.ts'
import { postCases } from './posts.ts'
import { queryCases } from './queries.ts'
import { readCases } from './reads.ts'
import { runIndexCases } from './run-index.ts'
import { setAsideCases } from './set-aside.ts'
import { StoreStage, type StorePlay, type StoreSubject } from './stage.ts'
import { syncCases } from './syncs.ts'
import { systemCases } from './system.ts'
import { valueCases } from './values.ts'
import type { ContractCase } from '../engine/engine-contract.ts'

const plays: readonly StorePlay[] = [
  ...openCases,
  ...commitCases,
  ...syncCases,
  ...postCases,
  ...mailCases,
  ...claimCases,
  ...pastCases,
  ...setAsideCases,
  ...valueCases,
  ...deadlineCases,
  ...readCases,
  ...allRunsCases,
  ...queryCases,
  ...leaseCases,
  ...systemCases,
  ...partCases,
  ...runIndexCases,
  ...contentCases,
]

/** All cases of the contract for one store. */
export function storeContract(subject: StoreSubject): readonly ContractCase[] {
  const unknown = Object.keys(subject.skip ?? {}).filter((name) => !plays.some((play) => play.name === name))
  if (unknown.length > 0) throw new Error(`${subject.name} skips cases that do not exist: ${unknown.join(', ')}`)
  return plays.map(({ name, invariant, shared, parts, index, contents, play }) => ({
    name,
    invariant,
    skip:
      subject.skip?.[name] ??
      (shared === true && subject.isPrivate === true ? 'no other process can open it' : undefined) ??
      (parts === true && subject.passesParts !== true ? 'it passes no live parts on' : undefined) ??
      (index === true && subject.keepsIndex !== true ? 'it keeps no index of runs' : undefined) ??
      (contents === true && subject.keepsContents !== true ? 'it keeps no contents' : undefined),
    async run() {
      const stage = new StoreStage(subject)
      try {
        await play(stage)
      } finally {
        await stage.dispose()
      }
    },
  }))
}
