/**
 * Cut values: what of a long value is shown at once.
 *
 * Owns: how values are cut, and that they say how much is left out. Does not own: which values are cut. The whole value
 * is in the journal.
 */
import type { Json } from '@reeve/core'

/** The value with at most about this many characters of text in it; the same value if it has no more. */
export function cut(value: Json, most: number): Json {
  const left = { characters: most }
  return isWithin(value, { characters: most }) ? value : cutTo(value, left)
}

interface TextRoom {
  characters: number
}

/** A member costs a few characters, so that a list of a million nulls is long, too. */
const perMember = 4

function isWithin(value: Json, left: TextRoom): boolean {
  left.characters -= typeof value === 'string' ? value.length : perMember
  if (left.characters < 0) return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return (value as readonly Json[]).every((each) => isWithin(each, left))
  return Object.entries(value as { readonly [name: string]: Json }).every(([name, each]) => {
    left.characters -= name.length
    return isWithin(each, left)
  })
}

function cutTo(value: Json, left: TextRoom): Json {
  if (typeof value === 'string') return cutText(value, left)
  left.characters -= perMember
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const kept: Json[] = []
    for (const each of value as readonly Json[]) {
      if (left.characters <= 0) return [...kept, leftOut(value.length - kept.length, 'entries')]
      kept.push(cutTo(each, left))
    }
    return kept
  }
  const members = Object.entries(value as { readonly [name: string]: Json })
  const kept: [string, Json][] = []
  for (const [name, each] of members) {
    if (left.characters <= 0)
      return Object.fromEntries([...kept, ['…', leftOut(members.length - kept.length, 'members')]])
    left.characters -= name.length
    kept.push([name, cutTo(each, left)])
  }
  return Object.fromEntries(kept)
}

function cutText(text: string, left: TextRoom): string {
  const most = Math.max(0, left.characters)
  left.characters -= text.length
  if (text.length <= most) return text
  const kept = text.slice(0, most).toWellFormed()
  return `${kept}… ${leftOut(text.length - most, 'characters')}`
}

const leftOut = (count: number, of: string): string => `[${count.toLocaleString('en')} more ${of} left out]`
