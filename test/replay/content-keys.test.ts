/**
 * Content keys over versions of Reeve: what is recorded now is found again in journals that were recorded before
 * (decision 0010).
 */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digestsOf } from '@reeve/engine/host'
import { decode, contentKeys, type Recorded } from '@reeve/journal'
import { manualClock, resume } from '@reeve/testing'
import { goldens, plant, type Golden } from './golden.ts'
import { oversightGoldens } from './oversight-goldens.ts'

/** The events of a golden journal. */
function eventsOf({ commits }: Golden): readonly Recorded[] {
  const names = new Map(commits.at(-1)!.tables['activation']!.map(({ num, id }) => [num, id]))
  return commits
    .flatMap(({ log }) => log)
    .map(
      ({ position, act, seq, at, body }) =>
        ({ position, activation: names.get(act), seq, at, event: decode(body as string) }) as Recorded,
    )
}

/** Keys by the place of the event that has them. */
function keysOf(events: readonly Recorded[]): Readonly<Record<string, string>> {
  const keys = contentKeys(events)
  return Object.fromEntries(
    events.flatMap(({ position, activation, event }) => {
      const key = keys.get(position)
      return key === undefined ? [] : [[`${event.type} ${activation} ${'address' in event ? event.address : ''}`, key]]
    }),
  )
}

test('K12: a recorded key is made the same way today; another way needs another scheme', async () => {
  const golden = goldens().find(({ name }) => name === 'content keys')!
  const scenario = oversightGoldens.find(({ name }) => name === golden.name)!
  const recorded = keysOf(eventsOf(golden))
  expect(new Set(Object.keys(recorded).map((place) => place.split(' ')[0]))).toEqual(
    new Set(['model.requested', 'tool.called', 'worker.started', 'interrupt.raised', 'approval.requested']),
  )
  // from its first commit on, so that what a start gives by default may change
  const folder = mkdtempSync(join(tmpdir(), 'reeve-keys-'))
  const file = join(folder, 'reeve.db')
  await plant(file, golden.commits.slice(0, 1))
  const { events } = await resume(scenario, file, manualClock())
  rmSync(folder, { recursive: true })
  expect(held(keysOf(events))).toEqual(held(recorded))
})

/** Without the model calls of the leader: it is shown Reeve's own words, which another version may change. */
function held(keys: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(keys).filter(([place]) => !/^model\.requested act_simulated turn#\d+\/model$/.test(place)),
  )
}

test('K12: so is one that is made with a secret, an HMAC with SHA-256 (RFC 2104)', () => {
  const secret = 'a secret of the deployment, 32 characters or more'
  const key = digestsOf({ secret }).keyOf('content')
  expect(key).toBe('hmac-1-764IAJ:G8IdR6rbmiaOaHcDRpj1tIQnZjeJ64n2VWB0hbAoLxo')
  expect(key.split(':')[1]).toBe(createHmac('sha256', secret).update('content').digest('base64url'))
})
