/** How the tests of what was said compare it. */
import { expect } from 'vitest'
import { newTranscriptFold, transcribe, spokenOf, type Recorded, type Spoken } from '../src/index.ts'

type Words = Spoken extends infer S
  ? S extends Spoken
    ? Omit<S, 'position' | 'at' | 'activation' | 'path' | 'agent'>
    : never
  : never

/** A message without its place in the feed, and without what its model said of the call: the path, then the words. */
export const bare = ({
  position: _position,
  at: _at,
  activation: _activation,
  agent: _agent,
  path,
  ...said
}: Spoken) => {
  const {
    finish: _finish,
    usage: _usage,
    ...words
  } = said as typeof said & { readonly finish?: unknown; readonly usage?: unknown }
  return [path.join('/'), words as Words] as const
}

/** Every cut of the events says what the one by one reading has said up to there; nothing is said twice. */
export function expectSameAtEveryCut(events: readonly Recorded[]): void {
  const fold = newTranscriptFold()
  const soFar: Spoken[] = []
  expect(spokenOf([])).toEqual([])
  events.forEach((recorded, i) => {
    soFar.push(...transcribe(fold, recorded))
    expect(transcribe(fold, recorded)).toEqual([])
    expect(spokenOf(events.slice(0, i + 1))).toEqual(soFar)
  })
  const positions = soFar.map(({ position }) => position)
  expect(positions).toEqual(positions.toSorted((a, b) => a - b))
}
