/** Every journal ever released resumes, from every commit at which its process may have died (K12). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decode, encode, upcasters, versions, type JournalEvent, type Upcaster } from '@reeve/journal'
import { checkJournal, manualClock, resume, verifyJournal } from '@reeve/testing'
import { currentVersion, goldens, goldenScenarios, plant } from './golden.ts'

let dir = ''
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'reeve-golden-'))))
afterAll(() => rmSync(dir, { recursive: true }))

describe('golden journals', () => {
  test('K12: the version in package.json has one of each scenario', () => {
    const recorded = goldens().flatMap(({ version, name }) => (version === currentVersion ? [name] : []))
    expect(recorded.sort()).toEqual(goldenScenarios.map(({ name }) => name).sort())
  })

  for (const { version, name, commits } of goldens()) {
    const bodies = commits.flatMap(({ log }) => log).map(({ body }) => body as string)

    test(`K12: ${version}/${name}: every entry is decoded, and stored again says the same`, () => {
      for (const body of bodies) expect(decode(encode(decode(body)))).toEqual(decode(body))
      expect(bodies.length).toBeGreaterThan(5)
    })

    test(`K12: ${version}/${name}: resumed from each of its commits it ends as it did, and repeats nothing`, async () => {
      const scenario = goldenScenarios.find((one) => one.name === name)
      expect(scenario, `the code of ${name} is kept as long as its journal`).toBeDefined()
      const last = commits.flatMap(({ log }) => log).at(-1)!
      const ended = decode(last['body'] as string)
      for (let n = 1; n < commits.length; n++) {
        const file = join(dir, `${version}-${name}-${n}.db`)
        await plant(file, commits.slice(0, n))
        const clock = manualClock(
          Math.max(...commits.slice(0, n).flatMap(({ log }) => log.map(({ at }) => at as number))),
        )
        const { end, events, repeated } = await resume(scenario!, file, clock)
        expect({ type: 'activation.settled', outcome: end.outcome }, `after commit ${n}`).toEqual({
          type: ended.type,
          outcome: 'outcome' in ended ? ended.outcome : undefined,
        })
        expect(repeated).toEqual([])
        expect(checkJournal(events)).toEqual([])
        expect((await verifyJournal(events, scenario!.registry)).problems).toEqual([])
        const before = commits.slice(0, n).flatMap(({ log }) => log.map(({ body }) => decode(body as string)))
        const mine = before.filter(({ type }) => type !== 'value.updated') // that one is in the stream of the session
        expect(events.slice(0, mine.length).map(({ event }) => event)).toEqual(mine)
      }
    }, 120_000)
  }
})

describe('the codec', () => {
  const old = { type: 'fact.noted', v: 1, op: 'fact', address: '!fact.noted', name: 'n', payload: 7 }
  const steps: Record<string, Upcaster> = {
    'fact.noted@1': ({ payload, ...rest }) => ({ ...rest, v: 2, data: payload }),
    'fact.noted@2': (event) => ({ ...event, v: 3, data: [event['data']] }),
    'fact.jotted@1': (event) => ({ ...event, type: 'fact.noted', v: 2 }),
  }

  test('K12: an old entry goes up step by step, also when its type was renamed', () => {
    const known = { ...versions, 'fact.noted': 3 }
    expect(decode(JSON.stringify(old), known, steps)).toEqual({
      type: 'fact.noted',
      v: 3,
      op: 'fact',
      address: '!fact.noted',
      name: 'n',
      data: [7],
    })
    const renamed = { type: 'fact.jotted', op: 'fact', address: 'a', name: 'n', data: 1 }
    expect(decode(JSON.stringify(renamed), known, steps)).toEqual({ ...renamed, type: 'fact.noted', v: 3, data: [1] })
  })

  test('K12: an entry of a newer Reeve is refused, not guessed; so is one that is not JSON', () => {
    expect(() => decode(JSON.stringify({ ...old, v: 9 }))).toThrow(
      expect.objectContaining({ code: 'journal.unknown-event' }),
    )
    expect(() => decode('{"type":"fact.invented"}')).toThrow(expect.objectContaining({ code: 'journal.unknown-event' }))
    expect(() => decode('{"type":')).toThrow(expect.objectContaining({ code: 'store.corrupt' }))
  })

  test('K12: every step up leads from a version that is not the current one', () => {
    for (const key of Object.keys(upcasters)) {
      const [type, version] = key.split('@') as [JournalEvent['type'], string]
      expect(versions[type] ?? Infinity, key).toBeGreaterThan(Number(version))
    }
    expect(Object.values(versions).every((version) => version >= 1)).toBe(true)
  })
})
