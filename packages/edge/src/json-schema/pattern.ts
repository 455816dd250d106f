/**
 * Pattern: whether a text matches a regular expression of a JSON Schema, in bounded time.
 *
 * Owns: the compiled form, and the choice between two engines. A pattern without repetition inside repetition is matched
 * by the engine of JavaScript, as long as the text is short enough that even its worst case is quick. Everything else is
 * matched here: a depth-first search that visits each state at each character once, so its time is the product of
 * pattern and text, whatever the pattern (as RE2's BitState: https://swtch.com/~rsc/regexp/regexp3.html).
 * Does not own: the grammar (pattern-syntax.ts), the bounds of a check (budget.ts).
 * Holds: a verdict depends on pattern and text alone, never on time.
 */
import { messageOf } from '@reeve/core'
import type { Budget } from './budget.ts'
import { BudgetSpent } from './budget.ts'
import { parsePattern, PatternProblem, type PatternNode } from './pattern-syntax.ts'

/** A pattern, compiled. */
export interface Pattern {
  /** Throws `BudgetSpent`. */
  test(text: string, budget: Budget): boolean
}
/** A pattern that cannot be read, and why: the end of a sentence that begins with the pattern. */
export interface UnreadPattern {
  readonly problem: string
}

/** Steps that the engine of JavaScript may need in its worst case: some milliseconds. */
const mostNativeSteps = 2_000_000
/** States of a program; a counted repetition has as many copies of its part. */
const mostStates = 20_000
/** States times characters: what has been visited is kept as one bit for each. */
const mostVisits = 64_000_000
/** Compiled patterns that are kept. */
const mostKept = 1_000

const kept = new Map<string, Pattern | UnreadPattern>()

/** Compiles a pattern. The last thousand are kept. Pure. */
export function readPattern(source: string): Pattern | UnreadPattern {
  const known = kept.get(source)
  if (known !== undefined) return known
  const made = compiled(source)
  if (kept.size >= mostKept) kept.delete(kept.keys().next().value!)
  kept.set(source, made)
  return made
}

export const isUnread = (pattern: Pattern | UnreadPattern): pattern is UnreadPattern => 'problem' in pattern

function compiled(source: string): Pattern | UnreadPattern {
  try {
    const tree = parsePattern(source)
    const native = nativeOf(tree)
    const program = programOf(tree)
    if (native === undefined && program === undefined)
      return { problem: `is too large: it repeats what repeats more than ${mostStates} times` }
    return {
      test(text, budget) {
        if (native !== undefined && native.worst(text.length) <= mostNativeSteps) {
          budget.spend(1 + (text.length >> 6))
          return native.expression.test(text)
        }
        if (program === undefined) throw new BudgetSpent('its text is too long for its pattern')
        return program.matches([...text], budget)
      },
    }
  } catch (thrown) {
    if (thrown instanceof PatternProblem) return { problem: thrown.message }
    // a class or a property that JavaScript does not take
    if (thrown instanceof SyntaxError) return { problem: `cannot be read: ${messageOf(thrown)}` }
    throw thrown
  }
}

interface Native {
  readonly expression: RegExp
  /** The most steps for a text of this length. */
  worst(length: number): number
}

/** How many ways there are to match: `ways` times the length of the text, `variable` times. */
interface Ways {
  readonly ways: number
  readonly variable: number
}

/** Undefined where a repetition repeats more than a character: its worst case may be exponential. */
function nativeOf(tree: PatternNode): Native | undefined {
  const found = waysOf(tree)
  if (found === undefined) return undefined
  const variable = found.variable + (isAnchored(tree) ? 0 : 1)
  return {
    expression: new RegExp(sourceOf(tree), 'u'),
    // one variable part walks the text once
    worst: (length) => found.ways * Math.max(1, length) ** Math.max(0, variable - 1),
  }
}

function waysOf(node: PatternNode): Ways | undefined {
  switch (node.kind) {
    case 'sequence': {
      let [ways, variable] = [1, 0]
      for (const part of node.parts) {
        const found = waysOf(part)
        if (found === undefined) return undefined
        ways *= found.ways
        variable += found.variable
      }
      return { ways, variable }
    }
    case 'choice': {
      let [ways, variable] = [0, 0]
      for (const each of node.ways) {
        const found = waysOf(each)
        if (found === undefined) return undefined
        ways += found.ways
        variable = Math.max(variable, found.variable)
      }
      return { ways, variable }
    }
    case 'repeat': {
      const { part, min, max } = node
      if (part.kind === 'character')
        return { ways: max === 1 && min === 0 ? 2 : 1, variable: max > 1 && min !== max ? 1 : 0 }
      const found = max === 1 ? waysOf(part) : undefined
      return found === undefined ? undefined : { ...found, ways: found.ways + 1 - min }
    }
    case 'look':
      return waysOf(node.part)
    default:
      return { ways: 1, variable: 0 }
  }
}

function isAnchored(node: PatternNode): boolean {
  if (node.kind === 'sequence') return node.parts.length > 0 && isAnchored(node.parts[0]!)
  if (node.kind === 'choice') return node.ways.every(isAnchored)
  return node.kind === 'start'
}

/** The pattern as ECMAScript writes it under the flag `u`. */
function sourceOf(node: PatternNode): string {
  switch (node.kind) {
    case 'character':
      return node.source
    case 'sequence':
      return node.parts.map((each) => (each.kind === 'choice' ? `(?:${sourceOf(each)})` : sourceOf(each))).join('')
    case 'choice':
      return node.ways.map(sourceOf).join('|')
    case 'repeat': {
      const { part, min, max } = node
      return `(?:${sourceOf(part)}){${min},${max === Infinity ? '' : max}}`
    }
    case 'look':
      return `(?${node.behind ? '<' : ''}${node.negated ? '!' : '='}${sourceOf(node.part)})`
    case 'start':
      return '^'
    case 'end':
      return '$'
    case 'boundary':
      return String.raw`\b`
    case 'inside':
      return String.raw`\B`
  }
}

type State =
  | { readonly kind: 'accept' }
  | {
      readonly kind: 'take'
      readonly takes: (character: string) => boolean
      readonly back: boolean
      readonly next: number
    }
  | { readonly kind: 'split'; a: number; readonly b: number }
  | { readonly kind: 'start' | 'end' | 'boundary' | 'inside'; readonly next: number }
  | { readonly kind: 'look'; readonly at: number; readonly negated: boolean; readonly next: number }

class TooLarge extends Error {}

/** The program of a pattern; undefined if it would have too many states. */
function programOf(tree: PatternNode): Program | undefined {
  try {
    return new Program(tree, isAnchored(tree))
  } catch (thrown) {
    if (thrown instanceof TooLarge) return undefined
    throw thrown
  }
}

class Program {
  readonly #states: State[] = []
  readonly #anchored: boolean
  readonly #first: number

  constructor(tree: PatternNode, anchored: boolean) {
    this.#anchored = anchored
    this.#first = this.#compile(tree, this.#add({ kind: 'accept' }), false)
  }

  #add(state: State): number {
    if (this.#states.length >= mostStates) throw new TooLarge()
    return this.#states.push(state) - 1
  }

  /** The state from which `node` is matched, and then what is at `next`. */
  #compile(node: PatternNode, next: number, back: boolean): number {
    switch (node.kind) {
      case 'character':
        return this.#add({ kind: 'take', takes: takerOf(node), back, next })
      case 'sequence': {
        const parts = back ? node.parts : node.parts.toReversed()
        return parts.reduce((after, part) => this.#compile(part, after, back), next)
      }
      case 'choice':
        return node.ways
          .map((way) => this.#compile(way, next, back))
          .reduceRight((b, a) => this.#add({ kind: 'split', a, b }))
      case 'repeat':
        return this.#repeat(node, next, back)
      case 'look': {
        const at = this.#compile(node.part, this.#add({ kind: 'accept' }), node.behind)
        return this.#add({ kind: 'look', at, negated: node.negated, next })
      }
      default:
        return this.#add({ kind: node.kind, next })
    }
  }

  #repeat({ part, min, max }: PatternNode & { readonly kind: 'repeat' }, next: number, back: boolean): number {
    let at = next
    if (max === Infinity) {
      const loop: State & { readonly kind: 'split' } = { kind: 'split', a: 0, b: next }
      at = this.#add(loop)
      loop.a = this.#compile(part, at, back)
    } else for (let i = min; i < max; i++) at = this.#add({ kind: 'split', a: this.#compile(part, at, back), b: next })
    for (let i = 0; i < min; i++) {
      const before = this.#compile(part, at, back)
      if (before === at) break // an empty part
      at = before
    }
    return at
  }

  matches(text: readonly string[], budget: Budget): boolean {
    const places = text.length + 1
    if (this.#states.length * places > mostVisits) throw new BudgetSpent('its text is too long for its pattern')
    const visited = new Bits(this.#states.length * places)
    budget.spend(visited.words)
    for (let from = 0; from < (this.#anchored ? 1 : places); from++)
      if (this.#reaches(this.#first, from, text, visited, budget)) return true
    return false
  }

  /**
   * Whether the end of the program is reached from a state and a place. What was visited before has failed before: so
   * nothing is visited twice.
   */
  #reaches(first: number, from: number, text: readonly string[], visited: Visited, budget: Budget): boolean {
    const states = this.#states
    const places = text.length + 1
    const open: number[] = [first, from]
    while (open.length > 0) {
      let at = open.pop()!
      let state = open.pop()!
      for (;;) {
        if (!visited.add(state * places + at)) break
        budget.spend(1)
        const now = states[state]!
        if (now.kind === 'accept') return true
        if (now.kind === 'split') {
          open.push(now.b, at)
          state = now.a
          continue
        }
        if (now.kind === 'take') {
          const character = text[now.back ? at - 1 : at]
          if (character === undefined || !now.takes(character)) break
          at += now.back ? -1 : 1
        } else if (now.kind === 'look') {
          if (this.#reaches(now.at, at, text, new Places(), budget) === now.negated) break
        } else if (!holds(now.kind, at, text)) break
        state = now.next
      }
    }
    return false
  }
}

const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character)

function holds(kind: 'start' | 'end' | 'boundary' | 'inside', at: number, text: readonly string[]): boolean {
  if (kind === 'start') return at === 0
  if (kind === 'end') return at === text.length
  return (isWord(text[at - 1]) !== isWord(text[at])) === (kind === 'boundary')
}

interface Visited {
  /** False if it was there. */
  add(place: number): boolean
}

class Bits implements Visited {
  readonly #bits: Uint32Array

  constructor(size: number) {
    this.#bits = new Uint32Array((size >> 5) + 1)
  }

  get words(): number {
    return this.#bits.length
  }

  add(place: number): boolean {
    const word = place >>> 5
    const bit = 1 << (place & 31)
    if ((this.#bits[word]! & bit) !== 0) return false
    this.#bits[word]! |= bit
    return true
  }
}

/** For what looks ahead or back: mostly a few places. */
class Places implements Visited {
  readonly #places = new Set<number>()

  add(place: number): boolean {
    const { size } = this.#places
    return this.#places.add(place).size > size
  }
}

/** Whether a character is taken; what JavaScript says of those of ASCII is kept. */
function takerOf({ source, literal }: PatternNode & { readonly kind: 'character' }): (character: string) => boolean {
  if (literal !== undefined) return (character) => character === literal
  const expression = new RegExp(`^(?:${source})$`, 'u')
  const known: (boolean | undefined)[] = []
  return (character) => {
    const code = character.charCodeAt(0)
    return code < 128 ? (known[code] ??= expression.test(character)) : expression.test(character)
  }
}
