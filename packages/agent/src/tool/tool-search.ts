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
const longestText = 4_000
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

/** The words of a tool, each with what it counts. */
interface ToolTerms {
  readonly weights: ReadonlyMap<string, number>
  readonly length: number
}

/** Made once for each tool, on its first search. */
const known = new WeakMap<ToolSpec, ToolTerms>()

/** The words of a name: `createIssue`, `create_issue` and `create-issue` have the same two. */
const termsOfName = (name: string): readonly string[] =>
  wordsIn(name.replace(/(\p{Ll}|\p{N})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$& '))

function termsOfTool(spec: ToolSpec): ToolTerms {
  const before = known.get(spec)
  if (before !== undefined) return before
  const weights = new Map<string, number>()
  let length = 0
  const add = (words: readonly string[], weight: number): void => {
    length += words.length
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + weight)
  }
  add(termsOfName(spec.name), inName)
  add(termsOfName(cut(spec.description, longestText)), inDescription)
  for (const text of parametersOf(spec.parameters)) add(termsOfName(cut(text, longestText)), inParameters)
  const words = { weights, length }
  known.set(spec, words)
  return words
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

/** How much a word that was asked for counts in a tool. */
function weightOf(word: string, { weights }: ToolTerms): number {
  const exact = weights.get(word)
  if (exact !== undefined) return exact
  if (word.length < shortestBeginning) return 0
  let most = 0
  for (const [each, weight] of weights)
    if (weight > most && each.length >= shortestBeginning && (each.startsWith(word) || word.startsWith(each)))
      most = weight
  return most * forBeginning
}

/**
 * The tools that fit a query, best first, at most so many. Those that it names exactly come first; equal ones stand in
 * their given order. Without a word that fits: none.
 */
export function searchTools(specs: readonly ToolSpec[], query: string, most: number): readonly ToolSpec[] {
  const asked = cut(query, longestQuery)
  const names = new Set(asked.split(/[\s,;"'`]+/u))
  const words = [...new Set(termsOfName(asked))].slice(0, mostTerms)
  const all = specs.map(termsOfTool)
  const average = all.reduce((sum, { length }) => sum + length, 0) / Math.max(1, all.length)
  const scores = specs.map(({ name }) => (names.has(name) ? exactly : 0))
  for (const word of words) {
    const weights = all.map((each) => weightOf(word, each))
    const having = weights.filter((weight) => weight > 0).length
    const rarity = Math.log(1 + (all.length - having + 0.5) / (having + 0.5))
    weights.forEach((weight, i) => {
      const size = saturation * (1 - lengthWeight + (lengthWeight * all[i]!.length) / average)
      if (weight > 0) scores[i]! += (rarity * weight * (saturation + 1)) / (weight + size)
    })
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
