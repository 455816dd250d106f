/**
 * Trust as pure functions: when a level rises, what an incident does, what is said about it (spec team 1.18, R-18, X38,
 * X50 to X52).
 */
import { describe, expect, test } from 'vitest'
import { completed, failed, failure, cancelled, seededRandom, type Json } from '@reeve/core'
import { oversightCheck, stricter } from '@reeve/edge'
import {
  canUpgrade,
  modeOfLevel,
  newTrust,
  readTrust,
  recordIncident,
  recordRun,
  setLevel,
  successOf,
  trustRulesCheck,
  type TrustRecord,
} from '../src/index.ts'

const hour = 60 * 60 * 1000
const day = 24 * hour
const now = 1_000 * day
const novice = (more: Partial<TrustRecord> = {}): TrustRecord => ({
  level: 'novice',
  completed: 50,
  succeeded: 45,
  startedAt: now - 7 * day,
  history: [],
  ...more,
})
const proficient = (more: Partial<TrustRecord> = {}): TrustRecord =>
  novice({ level: 'proficient', completed: 200, succeeded: 196, startedAt: now - 30 * day, ...more })

describe('team C91: a novice rises to proficient with exactly enough, and the first miss is the reason', () => {
  test.each<[string, TrustRecord, object]>([
    ['exactly enough', novice(), { ok: true, target: 'proficient' }],
    [
      '49 tasks, before every other miss',
      novice({ completed: 49, succeeded: 1, startedAt: now, lastIncident: now }),
      { code: 'tasks', have: 49, need: 50 },
    ],
    [
      '8999 of 10000',
      novice({ completed: 10_000, succeeded: 8_999, startedAt: now }),
      { code: 'success_rate', have: 0.8999, need: 0.9 },
    ],
    [
      '6 days and 23 hours',
      novice({ startedAt: now - 7 * day + hour, lastIncident: now }),
      { code: 'days', have: 6, need: 7 },
    ],
    ['an incident today', novice({ lastIncident: now }), { code: 'incident', have: 0, need: 7 }],
  ])('%s', (_name, trust, expected) => {
    const word = canUpgrade(trust, now)
    expect(word.ok ? word : word.reason).toMatchObject(expected)
  })

  test('X52: what is told never rounds both sides to the same', () => {
    const told = (completed: number, succeeded: number): string => {
      const word = canUpgrade(novice({ completed, succeeded }), now)
      return word.ok ? 'ok' : word.reason.message
    }
    expect(told(10_000, 8_999)).toBe('89.99 % succeeded (8999 of 10000), 90.00 % are needed')
    expect(told(50, 44)).toBe('88.0 % succeeded (44 of 50), 90.0 % are needed')
    expect(told(49, 49)).toBe('49 of 50 tasks')
    for (let n = 0; n < 300; n++) {
      const tasks = 50 + Math.floor(seededRandom('trust', n) * 1e6)
      const most = Math.ceil(tasks * 0.9) - 1
      const [have, need] = [...told(tasks, most).matchAll(/([\d.]+) %/g)].map((found) => Number(found[1]))
      expect(have).toBeLessThan(need!)
    }
  })
})

describe('team C92: the age of an incident counts in whole days of 24 hours', () => {
  test.each<[string, number, boolean]>([
    ['6 d 23 h', 6 * day + 23 * hour, false],
    ['1 ms less than 7 d', 7 * day - 1, false],
    ['exactly 7 d', 7 * day, true],
  ])('%s', (_name, age, ok) => {
    const missing = { code: 'incident', have: 6, need: 7, message: '6 of 7 days since the last incident' }
    expect(canUpgrade(novice({ lastIncident: now - age }), now)).toEqual(
      ok ? { ok: true, target: 'proficient' } : { ok: false, target: 'proficient', reason: missing },
    )
  })
})

test('team C93: one level at a time, however much there is: expert at the next run', () => {
  const much = novice({ completed: 499, succeeded: 499, startedAt: now - 400 * day })
  const first = recordRun(much, { run: 'run_1', succeeded: true }, now)
  const second = recordRun(first, { run: 'run_2', succeeded: true }, now)
  expect([first.level, second.level]).toEqual(['proficient', 'expert'])
  expect(second.history).toMatchObject([
    { what: 'risen', from: 'novice', to: 'proficient', run: 'run_1', completed: 500 },
    { what: 'risen', from: 'proficient', to: 'expert', run: 'run_2', completed: 501 },
  ])
})

describe('team C94: incidents', () => {
  test('a serious one makes an expert a novice, and everything is counted anew', () => {
    const expert = proficient({ level: 'expert' })
    const after = recordIncident(expert, 'serious', now, { by: 'ann', note: 'sent it to everybody' })
    expect(after).toMatchObject({ level: 'novice', completed: 0, succeeded: 0, startedAt: now, lastIncident: now })
    expect(modeOfLevel(after.level)).toBe('in-command')
    expect(after.history).toEqual([
      {
        at: now,
        what: 'incident',
        from: 'expert',
        to: 'novice',
        severity: 'serious',
        by: 'ann',
        note: 'sent it to everybody',
        completed: 200,
        succeeded: 196,
      },
    ])
    expect(canUpgrade(after, now)).toMatchObject({ reason: { code: 'tasks', have: 0 } })
  })

  test('a minor one leaves the level and what was counted, and blocks the rise for 30 days', () => {
    const after = recordIncident(proficient(), 'minor', now)
    expect(after).toMatchObject({
      level: 'proficient',
      completed: 200,
      succeeded: 196,
      startedAt: now - 30 * day,
      lastIncident: now,
    })
    const reasons = [29 * day, 30 * day - 1, 30 * day].map((later) => canUpgrade(after, now + later))
    expect(reasons).toMatchObject([
      { reason: { code: 'incident', have: 29, need: 30 } },
      { reason: { code: 'incident' } },
      { ok: true, target: 'expert' },
    ])
  })

  test('the same word again is the same incident', () => {
    const once = recordIncident(proficient(), 'minor', now, { id: 'inc_1' })
    expect(recordIncident(once, 'serious', now + 1, { id: 'inc_1' })).toBe(once)
  })
})

test('team C95: who is an expert does not rise', () => {
  expect(canUpgrade(proficient({ level: 'expert' }), now)).toMatchObject({
    ok: false,
    reason: { code: 'already_at_highest' },
  })
})

test('R-18: an unknown level, severity or record is an error and not the highest level', () => {
  const unknown = { ...novice(), level: 'wizard' } as unknown as TrustRecord
  const invalid = expect.objectContaining({ code: 'trust.invalid' }) as never
  expect(() => canUpgrade(unknown, now)).toThrow(invalid)
  expect(() => recordIncident(unknown, 'minor', now)).toThrow(invalid)
  expect(() => recordIncident(novice(), 'awful' as never, now)).toThrow(invalid)
  expect(() => setLevel(novice(), 'wizard' as never, now)).toThrow(invalid)
  expect(() => modeOfLevel('wizard' as never)).toThrow(invalid)
  for (const kept of [
    1,
    'expert',
    {},
    { level: 'expert' },
    { ...novice(), completed: 0.5 },
    { ...novice(), history: {} },
  ])
    expect(() => readTrust(kept as unknown as Json)).toThrow(invalid)
  expect(readTrust(null)).toBeUndefined()
})

test('the mode of each level', () => {
  expect((['novice', 'proficient', 'expert'] as const).map(modeOfLevel)).toEqual([
    'in-command',
    'in-the-loop',
    'on-the-loop',
  ])
})

describe('rules', () => {
  test('X38: the conservative rules want 99 % over 90 days before human-on-the-loop', () => {
    const enough = proficient({ completed: 300, succeeded: 297, startedAt: now - 90 * day })
    expect(canUpgrade(enough, now, 'conservative')).toEqual({ ok: true, target: 'expert' })
    expect(canUpgrade({ ...enough, succeeded: 296 }, now, 'conservative')).toMatchObject({
      reason: { code: 'success_rate' },
    })
    expect(canUpgrade({ ...enough, startedAt: now - 89 * day }, now, 'conservative')).toMatchObject({
      reason: { code: 'days', have: 89, need: 90 },
    })
    expect(canUpgrade({ ...enough, succeeded: 294, startedAt: now - 30 * day }, now)).toMatchObject({ ok: true })
  })

  test('of one’s own; what they cannot mean is told, all at once', () => {
    const rule = { tasks: 2, rate: 0.5, days: 0, incidentDays: 0 }
    const own = { proficient: rule, expert: { ...rule, tasks: 4 } }
    expect(trustRulesCheck(own, 'x')).toEqual([])
    expect(canUpgrade(novice({ completed: 2, succeeded: 1, startedAt: now }), now, own)).toMatchObject({ ok: true })
    expect(trustRulesCheck('lax', 'x')).toEqual([
      'x is the text "lax", expected "standard", "conservative" or rules of your own',
    ])
    expect(trustRulesCheck({ proficient: { ...rule, tasks: 0, rate: 90, day: 1 } }, 'x')).toEqual([
      'x.proficient has no option "day": did you mean "days"?',
      'x.proficient.tasks is 0, expected a whole number of at least 1',
      'x.proficient.rate is 90, expected 0 to 1',
      'x.expert is missing, expected an object',
    ])
  })
})

describe('counting', () => {
  test('X50: a failure counts as no success; a cancelled or rejected run does not count', () => {
    const rejected = failed(failure('work.rejected', 'no', 'rejected'))
    expect(successOf(completed(1))).toBe(true)
    expect(successOf(failed(failure('agent.failed', 'broken', 'unknown')))).toBe(false)
    expect(successOf({ status: 'timed-out', message: 'late' })).toBe(false)
    expect(successOf({ status: 'limited', limit: 'usd', message: 'too much' })).toBe(false)
    expect(
      [rejected, cancelled('stop'), { status: 'bailed', message: 'enough', text: '' } as const].map(successOf),
    ).toEqual([undefined, undefined, undefined])
  })

  test('a run counts once, and integers stay integers however many there are', () => {
    let record = recordRun(undefined, { run: 'run_0', succeeded: false }, now)
    expect(record).toMatchObject({
      level: 'novice',
      completed: 1,
      succeeded: 0,
      startedAt: now,
      history: [{ what: 'opened', run: 'run_0' }],
    })
    expect(recordRun(record, { run: 'run_0', succeeded: true }, now)).toBe(record)
    for (let n = 1; n < 1_000; n++) record = recordRun(record, { run: `run_${n}`, succeeded: n % 10 !== 0 }, now)
    expect([record.completed, record.succeeded]).toEqual([1_000, 900])
    expect(record.runs?.length).toBeLessThanOrEqual(100)
  })

  test('the history is bounded, the newest stays', () => {
    let record = newTrust(now)
    for (let n = 0; n < 250; n++) record = recordIncident(record, 'minor', now + n)
    expect(record.history).toHaveLength(100)
    expect(record.history.at(-1)?.at).toBe(now + 249)
  })

  test('an operator’s word is in the history', () => {
    const set = setLevel(novice(), 'expert', now, { by: 'ann', note: 'known for years' })
    expect(set).toMatchObject({
      level: 'expert',
      completed: 50,
      history: [{ what: 'set', from: 'novice', to: 'expert', by: 'ann', note: 'known for years' }],
    })
  })
})

describe('trust in the edge', () => {
  test('a name that cannot be kept under is refused', () => {
    for (const trust of ['', '.names', 'a/b', 7, ['a', '']])
      expect(oversightCheck({ trust }, 'x: oversight')).toHaveLength(1)
    for (const trust of ['analysts', ['a', 'b.c']]) expect(oversightCheck({ trust }, 'x: oversight')).toEqual([])
  })

  test('trust without a mode leaves the mode open; a stated mode is never loosened', () => {
    expect(stricter({ trust: 'a' }, { trust: 'b' })).toEqual({ trust: ['a', 'b'] })
    expect(stricter({ trust: 'a' }, { mode: 'on-the-loop' })).toMatchObject({ mode: 'on-the-loop' })
    expect(stricter({ trust: 'a' }, {})).toMatchObject({ mode: 'in-the-loop' })
    expect(stricter({}, { mode: 'on-the-loop', trust: 'a' })).toMatchObject({ mode: 'in-the-loop', trust: ['a'] })
  })
})
