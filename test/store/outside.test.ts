/** A store that is written outside of the packages, with what they export alone, keeps the contracts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine } from 'reeve/engine'
import {
  engineContract,
  storeContract,
  type Bench,
  type ContractCase,
  type EngineSubject,
  type StoreSubject,
} from 'reeve/testing/contract'
import { JsonStore } from '../../examples/stores/json-store.ts'

const place = (): { readonly file: string; readonly dispose: () => void } => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-outside-'))
  return { file: join(folder, 'runs.json'), dispose: () => rmSync(folder, { recursive: true }) }
}

const store: StoreSubject = {
  name: 'a JSON file',
  isPrivate: true,
  create: ({ clock }) => {
    const { file, dispose } = place()
    return {
      open: (options) => new JsonStore(file, options),
      kill: () => {
        throw new Error('a private store has one process')
      },
      stall: () => clock.advance(6_000),
      dispose,
    }
  },
}

const engine: EngineSubject & { readonly durable: boolean } = {
  name: 'over a JSON file',
  durable: true,
  skip: {
    'a worker apart without a registered agent fails as usual; its end survives a new leader segment':
      'an engine that is killed here is closed: what it was at is aborted',
  },
  async create({ clock }) {
    const { file, dispose } = place()
    let process = { isDead: false }
    const open = (): Engine => {
      const mine = (process = { isDead: false })
      return createEngine(new JsonStore(file, { clock }), {
        clock,
        strict: true,
        pollMs: 5,
        crash: () => mine.isDead,
        onWarning: () => {},
      })
    }
    let now = open()
    const end = async (how: 'close' | 'kill'): Promise<void> => {
      process.isDead = how === 'kill'
      await now.close({ graceMs: 0 })
    }
    const bench: Bench = {
      engine: now,
      async restart(how) {
        await end(how)
        return (now = open())
      },
      async dispose() {
        await end('kill')
        dispose()
      },
    }
    return bench
  },
}

function bind(title: string, cases: readonly ContractCase[]): void {
  describe(`a store written outside, ${title}`, () => {
    for (const { invariant, name, skip, run } of cases)
      test.skipIf(skip !== undefined)(`${invariant}: ${name}${skip === undefined ? '' : ` (${skip})`}`, async () => {
        await expect(run()).resolves.toBeUndefined()
      })
  })
}

bind('the store contract', storeContract(store))
// every third case: the file is written anew with each commit
bind(
  'the engine contract',
  engineContract(engine).filter((_, ordinal) => ordinal % 3 === 0),
)
