/**
 * Keywords: what the keywords of a JSON Schema say of a value.
 *
 * Owns: one check for each schema of a document, compiled when it is first needed, and the sentences about what does not
 * fit, which a model can act on. Does not own: how a schema is read (document.ts), bounds (budget.ts).
 * Holds: values are read by their own members; the verdict on a value that fits builds no text.
 */
import { canonical, cut, isObject, own, shownName, type Json, type JsonObject } from '@reeve/core'
import { misfitSteps, type Budget } from './budget.ts'
import type { Resource, SchemaDocument, SchemaNode } from './document.ts'
import { isUnread, readPattern } from './pattern.ts'

/** The sentence about a value that stands at a path. */
export type Misfit = (path: string) => string

/** One run of a check. */
export interface CheckRun {
  readonly budget: Budget
  /** The resources that were entered, the outermost first; kept only where references depend on it. */
  readonly scope: Resource[]
}

/** The first thing that does not fit. Members and items that the schema knows are added to `seen`, if it is given. */
export type Check = (value: Json | undefined, run: CheckRun, seen?: Seen) => Misfit | undefined

/** Members and items that a schema knows, for `unevaluatedProperties` and `unevaluatedItems`. */
export class Seen {
  readonly names = new Set<string>()
  readonly indexes = new Set<number>()
  /** So many from the first on. */
  first = 0

  add({ names, indexes, first }: Seen): void {
    for (const name of names) this.names.add(name)
    for (const index of indexes) this.indexes.add(index)
    this.first = Math.max(this.first, first)
  }
}

/** Checks of the schemas of one document. */
export class Checks {
  readonly #document: SchemaDocument
  readonly #made = new Map<SchemaNode, Check>()

  constructor(document: SchemaDocument) {
    this.#document = document
  }

  of(node: SchemaNode): Check {
    const known = this.#made.get(node)
    if (known !== undefined) return known
    // until it is made, and in itself, it is found here
    let made: Check | undefined
    this.#made.set(node, (value, run, seen) => (made ??= this.#make(node))(value, run, seen))
    return this.#made.get(node)!
  }

  #make(node: SchemaNode): Check {
    if (node.schema === true || node.isUnknown) return fits
    if (node.schema === false) return () => (path) => `${named(path)} is not expected`
    const checks = this.#keywords(node)
    const unevaluated = this.#unevaluated(node)
    const isNullable = node.get('nullable') === true
    const { isDynamic } = this.#document
    const check = ((value, run, seen) => {
      if (isNullable && value === null) return undefined
      const { budget, scope } = run
      budget.enter()
      const isEntry = isDynamic && scope.at(-1) !== node.resource
      if (isEntry) scope.push(node.resource)
      const known = unevaluated.length === 0 ? seen : new Seen()
      let misfit: Misfit | undefined
      for (let i = 0; i < checks.length && misfit === undefined; i++) misfit = checks[i]!(value, run, known)
      for (let i = 0; i < unevaluated.length && misfit === undefined; i++) misfit = unevaluated[i]!(value, run, known)
      if (isEntry) scope.pop()
      budget.depth -= 1
      if (known !== seen && misfit === undefined) seen?.add(known!)
      return misfit
    }) satisfies Check
    return check
  }

  #keywords(node: SchemaNode): readonly Check[] {
    return [
      ...this.#references(node),
      typeCheck(node.get('type')),
      constCheck(node.get('const')),
      enumCheck(node.get('enum')),
      ofKind('string', textChecks(node)),
      ofKind('number', numberChecks(node)),
      ofKind('array', this.#list(node)),
      ofKind('object', this.#object(node)),
      ...this.#combined(node),
    ].filter((each) => each !== undefined)
  }

  #one(node: SchemaNode, keyword: string): Check | undefined {
    const found = node.one.get(keyword)
    return found === undefined ? undefined : this.of(found)
  }

  #references(node: SchemaNode): readonly Check[] {
    return [...node.references].map(([keyword, target]) => {
      if (keyword === '$dynamicRef') return this.#dynamic(node, target)
      if (keyword === '$recursiveRef') return this.#recursive(target)
      return this.of(target)
    })
  }

  /** https://json-schema.org/draft/2020-12/json-schema-core#section-8.2.3.2 */
  #dynamic(node: SchemaNode, target: SchemaNode): Check {
    const reference = node.get('$dynamicRef')
    const name = typeof reference === 'string' ? (reference.split('#')[1] ?? '') : ''
    const plain = this.of(target)
    if (target.resource.dynamicAnchors.get(name) !== target) return plain
    return (value, run, seen) => {
      const found = run.scope.find(({ dynamicAnchors }) => dynamicAnchors.has(name))
      return (found === undefined ? plain : this.of(found.dynamicAnchors.get(name)!))(value, run, seen)
    }
  }

  /** https://json-schema.org/draft/2019-09/json-schema-core#section-8.2.4.2 */
  #recursive(target: SchemaNode): Check {
    const plain = this.of(target)
    if (target.get('$recursiveAnchor') !== true) return plain
    return (value, run, seen) => {
      const found = run.scope.find(({ root }) => root.get('$recursiveAnchor') === true)
      return (found === undefined ? plain : this.of(found.root))(value, run, seen)
    }
  }

  #list(node: SchemaNode): readonly Check[] {
    return [
      atLeast(node.get('minItems'), 'items', lengthOf),
      atMost(node.get('maxItems'), 'items', lengthOf),
      node.get('uniqueItems') === true ? uniqueCheck : undefined,
      this.#items(node),
      this.#contains(node),
    ].filter((each) => each !== undefined)
  }

  #items(node: SchemaNode): Check | undefined {
    // drafts up to 2019-09 have a list as `items`
    const isTuple = node.several.has('items')
    const first = (node.several.get(isTuple ? 'items' : 'prefixItems') ?? []).map((each) => this.of(each))
    const rest = this.#one(node, isTuple ? 'additionalItems' : 'items')
    if (first.length === 0 && rest === undefined) return undefined
    // where the first ones are not known, the others are not either
    const isRestKnown = !node.lost.has('prefixItems') && !node.lost.has('items')
    return (value, run, seen) => {
      const list = value as readonly Json[]
      const most = rest !== undefined && isRestKnown ? list.length : Math.min(first.length, list.length)
      for (let i = 0; i < most; i++) {
        const misfit = (i < first.length ? first[i]! : rest!)(list[i], run)
        if (misfit !== undefined) return at(i, misfit)
      }
      if (seen !== undefined) seen.first = Math.max(seen.first, most)
      return undefined
    }
  }

  #contains(node: SchemaNode): Check | undefined {
    const check = this.#one(node, 'contains')
    if (check === undefined) return undefined
    const [least, most] = [countOf(node.get('minContains')) ?? 1, countOf(node.get('maxContains'))]
    const bound = node.one.get('contains')!.isRelaxed ? undefined : most
    // what is contained counts as known since 2020-12
    const counts = node.resource.draft === 2020
    return (value, run, seen) => {
      const list = value as readonly Json[]
      let found = 0
      let why: Misfit | undefined
      for (let i = 0; i < list.length; i++) {
        const misfit = check(list[i], run)
        if (misfit === undefined) found += 1
        else why ??= at(i, misfit)
        if (misfit === undefined && counts) seen?.indexes.add(i)
      }
      if (found < least)
        return (path) =>
          `${named(path)} must have at least ${least} ${least === 1 ? 'item that fits' : 'items that fit'} "contains", got ${found}${why === undefined ? '' : `: ${why(path)}`}`
      if (bound === undefined || found <= bound) return undefined
      return (path) =>
        `${named(path)} must have at most ${bound} ${bound === 1 ? 'item that fits' : 'items that fit'} "contains", got ${found}`
    }
  }

  #object(node: SchemaNode): readonly Check[] {
    const required = listOf(node.get('required')).filter((each) => typeof each === 'string')
    return [
      required.length === 0 ? undefined : requiredCheck(required),
      this.#members(node),
      atLeast(node.get('minProperties'), 'members', membersOf),
      atMost(node.get('maxProperties'), 'members', membersOf),
      this.#names(node),
      ...this.#dependent(node),
    ].filter((each) => each !== undefined)
  }

  #members(node: SchemaNode): Check | undefined {
    const known = new Map([...(node.named.get('properties') ?? [])].map(([name, each]) => [name, this.of(each)]))
    const patterns = [...(node.named.get('patternProperties') ?? [])].flatMap(([source, each]) => {
      const pattern = readPattern(source)
      return isUnread(pattern) ? [] : [{ pattern, check: this.of(each) }]
    })
    // a member is another one only where it is known which ones are not
    const isClosed = !node.lost.has('properties') && !node.lost.has('patternProperties')
    const others = isClosed ? this.#one(node, 'additionalProperties') : undefined
    const refusesOthers = others !== undefined && node.one.get('additionalProperties')!.schema === false
    if (known.size === 0 && patterns.length === 0 && others === undefined) return undefined
    return (value, run, seen) => {
      const object = value as JsonObject
      for (const name of Object.keys(object)) {
        const member = object[name]
        if (member === undefined) continue
        const check = known.get(name)
        let isKnown = check !== undefined
        let misfit = check?.(member, run)
        for (const each of patterns) {
          if (misfit !== undefined) break
          if (!each.pattern.test(name, run.budget)) continue
          isKnown = true
          misfit = each.check(member, run)
        }
        if (!isKnown && others !== undefined) {
          if (refusesOthers) return at(name, notExpected(known))
          misfit = others(member, run)
        }
        if (misfit !== undefined) return at(name, misfit)
        if (isKnown || others !== undefined) seen?.names.add(name)
      }
      return undefined
    }
  }

  #names(node: SchemaNode): Check | undefined {
    const check = this.#one(node, 'propertyNames')
    if (check === undefined) return undefined
    return (value, run) => {
      for (const name of presentIn(value as JsonObject)) {
        const misfit = check(name, run)
        if (misfit !== undefined) return at(name, (path) => `the name of ${named(path)} does not fit: ${misfit('')}`)
      }
      return undefined
    }
  }

  #dependent(node: SchemaNode): readonly Check[] {
    const checks: Check[] = []
    for (const keyword of ['dependentRequired', 'dependencies']) {
      const given = node.get(keyword)
      for (const [name, names] of isObject(given) ? Object.entries(given) : [])
        if (Array.isArray(names)) checks.push(dependentCheck(name, names as readonly Json[]))
    }
    for (const keyword of ['dependentSchemas', 'dependencies'])
      for (const [name, each] of node.named.get(keyword) ?? []) {
        const check = this.of(each)
        checks.push((value, run, seen) =>
          own(value as JsonObject, name) === undefined ? undefined : check(value, run, seen),
        )
      }
    return checks
  }

  #combined(node: SchemaNode): readonly Check[] {
    const several = (keyword: string): readonly Check[] | undefined =>
      node.several.get(keyword)?.map((each) => this.of(each))
    const [anyOf, oneOf] = [several('anyOf'), several('oneOf')]
    // with a form that may take too much, several may fit that do not
    const isOneKnown = node.several.get('oneOf')?.some(({ isRelaxed }) => isRelaxed) === false
    const not = node.one.get('not')
    return [
      ...(several('allOf') ?? []),
      anyOf === undefined ? undefined : anyCheck(anyOf, false),
      oneOf === undefined ? undefined : anyCheck(oneOf, isOneKnown),
      not === undefined || not.isRelaxed ? undefined : notCheck(this.of(not)),
      this.#condition(node),
    ].filter((each) => each !== undefined)
  }

  #condition(node: SchemaNode): Check | undefined {
    const when = node.one.get('if')
    if (when === undefined || when.isRelaxed) return undefined
    const [condition, then, otherwise] = [this.of(when), this.#one(node, 'then'), this.#one(node, 'else')]
    return (value, run, seen) => {
      const known = seen === undefined ? undefined : new Seen()
      if (condition(value, run, known) !== undefined) return otherwise?.(value, run, seen)
      if (known !== undefined) seen!.add(known)
      return then?.(value, run, seen)
    }
  }

  #unevaluated(node: SchemaNode): readonly Check[] {
    if (node.losesNames) return []
    const [items, members] = [this.#one(node, 'unevaluatedItems'), this.#one(node, 'unevaluatedProperties')]
    const onItems: Check = (value, run, seen) => {
      const list = value as readonly Json[]
      for (let i = seen!.first; i < list.length; i++) {
        const misfit = seen!.indexes.has(i) ? undefined : items!(list[i], run)
        if (misfit !== undefined) return at(i, misfit)
      }
      seen!.first = list.length
      return undefined
    }
    const onMembers: Check = (value, run, seen) => {
      const object = value as JsonObject
      for (const name of presentIn(object)) {
        const misfit = seen!.names.has(name) ? undefined : members!(object[name], run)
        if (misfit !== undefined) return at(name, misfit)
        seen!.names.add(name)
      }
      return undefined
    }
    return [
      items === undefined ? undefined : ofKind('array', [onItems]),
      members === undefined ? undefined : ofKind('object', [onMembers]),
    ].filter((each) => each !== undefined)
  }
}

const fits: Check = () => undefined

/** How much of a value, a pattern or a list of choices is said. Characters. */
const longestValue = 60
const longestSaid = 2_000

const named = (path: string): string => (path === '' ? 'the value' : `"${path}"`)

/** The same misfit, of a member or an item. */
const at =
  (key: string | number, misfit: Misfit): Misfit =>
  (path) =>
    misfit(typeof key === 'number' ? `${path}[${key}]` : `${path === '' ? '' : `${path}.`}${shownName(key)}`)

const article = (word: string): string =>
  word === 'null' || word === 'nothing' ? word : `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`

const short = (value: Json | undefined): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > longestValue ? cut(text, longestValue) : text
}

const notExpected =
  (known: ReadonlyMap<string, unknown>): Misfit =>
  (path) => {
    const names = [...known.keys()].map((each) => `"${each}"`).join(', ')
    return `${named(path)} is not expected${names === '' ? '' : `; known are ${cut(names, longestSaid)}`}`
  }

/** What a JSON value is, in the words of JSON Schema. */
function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/**
 * Checks for values of one kind. An object is one of whatever class: a verdict must not depend on what it inherits, or
 * one that is not plain would pass unchecked.
 */
function ofKind(kind: string, checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined
  return (value, run, seen) => {
    if (kindOf(value) !== kind) return undefined
    for (const check of checks) {
      const misfit = check(value, run, seen)
      if (misfit !== undefined) return misfit
    }
    return undefined
  }
}

const listOf = (given: Json | undefined): readonly Json[] => (Array.isArray(given) ? (given as readonly Json[]) : [])
const countOf = (given: Json | undefined): number | undefined => (typeof given === 'number' ? given : undefined)
const presentIn = (object: JsonObject): readonly string[] =>
  Object.keys(object).filter((name) => object[name] !== undefined)

const lengthOf = (value: Json | undefined): number => (value as readonly Json[]).length
const membersOf = (value: Json | undefined): number => presentIn(value as JsonObject).length
/** Characters as JSON Schema counts them: code points. */
function charactersIn(value: Json | undefined): number {
  let count = 0
  for (const _ of value as string) count += 1
  return count
}

function atLeast(
  bound: Json | undefined,
  what: string,
  amountOf: (value: Json | undefined) => number,
): Check | undefined {
  if (typeof bound !== 'number') return undefined
  return (value) => {
    const amount = amountOf(value)
    return amount >= bound ? undefined : (path) => `${named(path)} must have at least ${bound} ${what}, got ${amount}`
  }
}

function atMost(
  bound: Json | undefined,
  what: string,
  amountOf: (value: Json | undefined) => number,
): Check | undefined {
  if (typeof bound !== 'number') return undefined
  return (value) => {
    const amount = amountOf(value)
    return amount <= bound ? undefined : (path) => `${named(path)} must have at most ${bound} ${what}, got ${amount}`
  }
}

function typeCheck(type: Json | undefined): Check | undefined {
  if (type === undefined) return undefined
  const types = Array.isArray(type) ? (type as readonly string[]) : [type as string]
  const takesInteger = types.includes('integer')
  return (value) =>
    types.includes(kindOf(value)) || (takesInteger && Number.isInteger(value))
      ? undefined
      : (path) =>
          `${named(path)} must be ${types.map(article).join(' or ')}, got ${typeof value === 'number' ? String(value) : article(kindOf(value))}`
}

/** Whether a value is one of these, as JSON. */
function equals(allowed: readonly Json[]): (value: Json | undefined) => boolean {
  const plain = new Set<Json | undefined>(allowed.filter((each) => typeof each !== 'object' || each === null))
  const objects = new Set(allowed.filter((each) => typeof each === 'object' && each !== null).map(canonical))
  return (value) =>
    typeof value !== 'object' || value === null ? plain.has(value) : objects.size > 0 && objects.has(canonical(value))
}

function constCheck(only: Json | undefined): Check | undefined {
  if (only === undefined) return undefined
  const isIt = equals([only])
  return (value) =>
    isIt(value) ? undefined : (path) => `${named(path)} must be ${cut(JSON.stringify(only), longestSaid)}`
}

function enumCheck(allowed: Json | undefined): Check | undefined {
  if (!Array.isArray(allowed)) return undefined
  const list = allowed as readonly Json[]
  const isOne = equals(list)
  return (value) =>
    isOne(value)
      ? undefined
      : (path) =>
          `${named(path)} must be one of ${cut(list.map((each) => JSON.stringify(each)).join(', '), longestSaid)}, got ${short(value)}`
}

function textChecks(node: SchemaNode): readonly Check[] {
  const [least, most, source] = [node.get('minLength'), node.get('maxLength'), node.get('pattern')]
  return [
    // a text has no more characters than it is long
    atLeast(least, 'characters', charactersIn),
    atMost(most, 'characters', (value) => ((value as string).length <= (most as number) ? 0 : charactersIn(value))),
    typeof source === 'string' ? patternCheck(source) : undefined,
  ].filter((each) => each !== undefined)
}

function patternCheck(source: string): Check | undefined {
  const pattern = readPattern(source)
  if (isUnread(pattern)) return undefined
  return (value, run) =>
    pattern.test(value as string, run.budget)
      ? undefined
      : (path) => `${named(path)} must match ${cut(source, longestSaid)}, got ${short(value)}`
}

function numberChecks(node: SchemaNode): readonly Check[] {
  const [minimum, maximum, above, under, factor] = (
    ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const
  ).map((each) => node.get(each))
  const check = (
    bound: Json | undefined,
    holds: (value: number, bound: number) => boolean,
    words: string,
  ): Check | undefined =>
    typeof bound !== 'number'
      ? undefined
      : (value) =>
          holds(value as number, bound)
            ? undefined
            : (path) => `${named(path)} must be ${words} ${bound}, got ${value as number}`
  const isMore = (value: number, bound: number): boolean => value > bound
  const isLess = (value: number, bound: number): boolean => value < bound
  return [
    // draft 4 and OpenAPI 3.0 say that a bound itself is not taken
    above === true ? check(minimum, isMore, 'more than') : check(minimum, (value, bound) => value >= bound, 'at least'),
    under === true ? check(maximum, isLess, 'less than') : check(maximum, (value, bound) => value <= bound, 'at most'),
    check(above, isMore, 'more than'),
    check(under, isLess, 'less than'),
    check(factor, isMultiple, 'a multiple of'),
  ].filter((each) => each !== undefined)
}

/** Exact in the decimal digits that both are written with: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, factor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0
  const [a, b] = [digitsOf(value), digitsOf(factor)]
  const lift = a.power - b.power
  return lift >= 0
    ? (a.digits * 10n ** BigInt(lift)) % b.digits === 0n
    : a.digits % (b.digits * 10n ** BigInt(-lift)) === 0n
}

/** A number as digits times a power of ten. */
function digitsOf(value: number): { readonly digits: bigint; readonly power: number } {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toString().split('e')
  const [whole = '', part = ''] = mantissa.split('.')
  return { digits: BigInt(whole + part), power: Number(exponent) - part.length }
}

const uniqueCheck: Check = (value, run) => {
  const list = value as readonly Json[]
  run.budget.spend(list.length)
  return new Set(list.map((each) => canonical(each))).size === list.length
    ? undefined
    : (path) => `${named(path)} must not have the same item twice`
}

const requiredCheck =
  (names: readonly string[]): Check =>
  (value) => {
    const missing = names.find((name) => own(value as JsonObject, name) === undefined)
    return missing === undefined ? undefined : at(missing, (path) => `${named(path)} is missing`)
  }

const dependentCheck =
  (name: string, names: readonly Json[]): Check =>
  (value) => {
    if (own(value as JsonObject, name) === undefined) return undefined
    const missing = names.find((each) => typeof each === 'string' && own(value as JsonObject, each) === undefined)
    return missing === undefined
      ? undefined
      : at(missing as string, (path) => `${named(path)} is missing, and must be there where "${name}" is`)
  }

function anyCheck(checks: readonly Check[], onlyOne: boolean): Check {
  return (value, run, seen) => {
    const misfits: Misfit[] = []
    let fitting = 0
    for (const check of checks) {
      const known = seen === undefined ? undefined : new Seen()
      const misfit = check(value, run, known)
      if (misfit !== undefined) {
        run.budget.spend(misfitSteps)
        misfits.push(misfit)
      } else {
        fitting += 1
        if (known !== undefined) seen!.add(known)
        else if (!onlyOne) return undefined
      }
    }
    if (fitting === 1 || (fitting > 1 && !onlyOne)) return undefined
    if (fitting > 1)
      return (path) => `${named(path)} fits ${fitting} of ${checks.length} forms, and only one is allowed`
    if (misfits.length === 1) return misfits[0]
    return (path) => {
      const why = [...new Set(misfits.map((each) => each(path)))].join('; or ')
      return `${named(path)} fits none of ${checks.length} forms: ${cut(why, longestSaid)}`
    }
  }
}

function notCheck(check: Check): Check {
  return (value, run) =>
    check(value, run) === undefined ? (path) => `${named(path)} has a form that is not allowed` : undefined
}
