/**
 * Tool search: which tools of many fit the words of a query, best first.
 *
 * Owns: the words of a tool, the ranking (BM25 over weighted words), the groups of names. Does not own: who searches and
 * what follows (search-toolbox.ts). Pure.
 * Holds: work and results are bounded, whatever a query or a foreign tool holds. A query is no more than a list of words.
 */
import { cut, isObject, own, type Json, type JsonObject } from '@reeve/core'
import { wordsIn } from '@reeve/engine'
import type { ToolSpec } from '@reeve/model'

/** The name of the search as a tool. */
export const findTool = 'find_tools'

/** What of a query counts. */
const longestQuery = 500
const mostTerms = 32
/** What of a tool counts. Characters, levels and parameters. */
const longestText = 2_000
const deepest = 4
const mostParameters = 200

/** What a word counts by where it stands. */
const inName = 4
const inDescription = 1
const inParameters = 0.5
/** A word that only begins as the one that was asked for. */
const forBeginning = 0.5
/** Shorter words do not count as beginnings. */
const shortestBeginning = 3
/** The usual constants of BM25: how soon repetition stops counting, and how much length counts. */
const saturation = 1.2
const lengthWeight = 0.5

/** Where each word of some tools stands. */
interface ToolIndex {
  /** Of each word: the tools that have it, by their place, with what it counts there. */
  readonly places: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** How many words each tool has. */
  readonly lengths: readonly number[]
  readonly average: number
}

/** Made on the first search of a list. */
const indices = new WeakMap<readonly ToolSpec[], ToolIndex>()

/** The words of a name: `createIssue`, `create_issue` and `create-issue` have the same two. */
const termsOfName = (name: string): readonly string[] =>
  wordsIn(name.replace(/(\p{Ll}|\p{N})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$& '))

function indexOf(specs: readonly ToolSpec[]): ToolIndex {
  const before = indices.get(specs)
  if (before !== undefined) return before
  const places = new Map<string, Map<number, number>>()
  const lengths = specs.map((spec, i) => {
    let length = 0
    const add = (text: string, weight: number): void => {
      for (const word of termsOfName(cut(text, longestText))) {
        length++
        const at = places.get(word) ?? new Map<number, number>()
        places.set(word, at.set(i, (at.get(i) ?? 0) + weight))
      }
    }
    add(spec.name, inName)
    add(spec.description, inDescription)
    for (const text of parametersOf(spec.parameters)) add(text, inParameters)
    return length
  })
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  const index = { places, lengths, average }
  indices.set(specs, index)
  return index
}

/** The names and descriptions of parameters, also of nested ones. */
function parametersOf(schema: JsonObject): readonly string[] {
  const texts: string[] = []
  const visit = (given: Json | undefined, depth: number): void => {
    if (!isObject(given) || depth > deepest) return
    const properties = own(given, 'properties')
    for (const [name, each] of isObject(properties) ? Object.entries(properties) : []) {
      if (texts.length >= mostParameters) return
      texts.push(name)
      const description = isObject(each) ? own(each, 'description') : undefined
      if (typeof description === 'string') texts.push(description)
      visit(each, depth + 1)
    }
    visit(own(given, 'items'), depth + 1)
  }
  visit(schema, 0)
  return texts
}

/** How much a word that was asked for counts in each tool, by its place. */
function weightsOf(word: string, { places }: ToolIndex): ReadonlyMap<number, number> {
  const weights = new Map(places.get(word))
  if (word.length < shortestBeginning) return weights
  const begins = new Map<number, number>()
  for (const [each, at] of places)
    if (each !== word && each.length >= shortestBeginning && (each.startsWith(word) || word.startsWith(each)))
      for (const [i, weight] of at) begins.set(i, Math.max(begins.get(i) ?? 0, weight * forBeginning))
  for (const [i, weight] of begins) if (!weights.has(i)) weights.set(i, weight)
  return weights
}

/**
 * The tools that fit a query, best first, at most so many. Those that it names exactly come first; equal ones stand in
 * their given order. Without a word that fits: none.
 */
export function searchTools(specs: readonly ToolSpec[], query: string, most: number): readonly ToolSpec[] {
  const asked = cut(query, longestQuery)
  const names = new Set(asked.split(/[\s,;"'`]+/u))
  const words = [...new Set(termsOfName(asked))].slice(0, mostTerms)
  const index = indexOf(specs)
  const { lengths, average } = index
  const scores = specs.map(({ name }) => (names.has(name) ? exactly : 0))
  for (const word of words) {
    const weights = weightsOf(word, index)
    const rarity = Math.log(1 + (specs.length - weights.size + 0.5) / (weights.size + 0.5))
    for (const [i, weight] of weights) {
      const size = saturation * (1 - lengthWeight + (lengthWeight * lengths[i]!) / average)
      scores[i]! += (rarity * weight * (saturation + 1)) / (weight + size)
    }
  }
  return specs
    .map((spec, i) => ({ spec, score: scores[i]! }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ spec }) => spec)
}

/** More than all words of a query together. */
const exactly = 1e6

/** What the names of tools begin with, where several begin so: the most frequent first. */
export function groupsOf(specs: readonly ToolSpec[], most: number): readonly { name: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const { name } of specs) {
    const [first] = termsOfName(name)
    if (first !== undefined) counts.set(first, (counts.get(first) ?? 0) + 1)
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .filter(({ count }) => count > 1)
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, most)
}
