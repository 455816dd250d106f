/**
 * Schema document: a JSON Schema read once, with its references resolved.
 *
 * Owns: drafts, where schemas stand in a schema, ids, anchors, references, the forms of keywords, and what cannot be
 * read. Reads drafts 4 to 2020-12; keywords of all of them are read in each, since none means two things, except what
 * stands beside a `$ref` and `id`. Without `$schema` it is 2020-12, as MCP says
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic#json-schema-usage). Remote documents are not fetched.
 * Does not own: checks of values (keywords.ts).
 * Holds: names come from others: everything is read by own members. What cannot be read is taken out, and what would
 * become stricter by that is relaxed: `isRelaxed` says that a node may take values that its schema does not take, never
 * the other way round.
 */
import { cut, described, isObject, nearest, own, type Json, type JsonObject } from '@reeve/core'
import { isUnread, readPattern } from './pattern.ts'

/** A draft of JSON Schema by its year, or its number before there were years. */
export type Draft = 4 | 6 | 7 | 2019 | 2020

/** A document, or a part of one with an id of its own. */
export interface Resource {
  readonly base: string
  readonly draft: Draft
  root: SchemaNode
  readonly anchors: Map<string, SchemaNode>
  readonly dynamicAnchors: Map<string, SchemaNode>
}

/** One schema of a document. */
export class SchemaNode {
  /** Schemas in it: by keyword, for those that hold one, several or named ones. */
  readonly one = new Map<string, SchemaNode>()
  readonly several = new Map<string, readonly SchemaNode[]>()
  readonly named = new Map<string, ReadonlyMap<string, SchemaNode>>()
  /** What `$ref`, `$dynamicRef` and `$recursiveRef` mean without regard to who asks. */
  readonly references = new Map<string, SchemaNode>()
  /** Keywords that could not be read. */
  readonly lost = new Set<string>()
  isRelaxed = false
  /** Members or items that are known to its schema may not be known here. */
  losesNames = false

  readonly schema: JsonObject | boolean
  /** A JSON pointer. */
  readonly at: string
  readonly resource: Resource

  constructor(schema: JsonObject | boolean, at: string, resource: Resource) {
    this.schema = schema
    this.at = at
    this.resource = resource
  }

  /** A keyword as it is said; undefined if it is not, or cannot be read. */
  get(keyword: string): Json | undefined {
    if (typeof this.schema === 'boolean' || this.isUnknown || this.lost.has(keyword)) return undefined
    if (keyword !== '$ref' && this.isReferenceAlone) return undefined
    return own(this.schema, keyword)
  }

  /** Nothing of it is known: its dialect is not one that is read, or it is no schema. */
  get isUnknown(): boolean {
    return this.lost.has('')
  }

  /** In drafts up to 7, nothing counts beside a reference. */
  get isReferenceAlone(): boolean {
    return this.resource.draft <= 7 && isObject(this.schema) && typeof own(this.schema, '$ref') === 'string'
  }

  /** Schemas that look at the same value. */
  *inPlace(): Iterable<SchemaNode> {
    yield* this.references.values()
    for (const keyword of ['not', 'if', 'then', 'else']) if (this.one.has(keyword)) yield this.one.get(keyword)!
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) yield* this.several.get(keyword) ?? []
    for (const keyword of ['dependentSchemas', 'dependencies']) yield* this.named.get(keyword)?.values() ?? []
  }

  *all(): Iterable<SchemaNode> {
    yield* this.references.values()
    yield* this.one.values()
    for (const list of this.several.values()) yield* list
    for (const names of this.named.values()) yield* names.values()
  }
}

/** Something of a schema that cannot be read. */
export interface SchemaProblem {
  /** A JSON pointer. */
  readonly at: string
  readonly problem: string
}

const drafts: ReadonlyMap<string, Draft> = new Map([
  ['json-schema.org/draft-04/schema', 4],
  ['json-schema.org/draft-06/schema', 6],
  ['json-schema.org/draft-07/schema', 7],
  ['json-schema.org/draft/2019-09/schema', 2019],
  ['json-schema.org/draft/2020-12/schema', 2020],
  ['json-schema.org/schema', 2020],
  // https://spec.openapis.org/oas/v3.1.0#schema-object
  ['spec.openapis.org/oas/3.1/dialect/base', 2020],
])

/** The draft that a `$schema` names; undefined if it is not one that is read. */
const draftNamed = (name: string): Draft | undefined => drafts.get(name.replace(/^https?:\/\//, '').replace(/#$/, ''))

const oneKeywords = [
  'additionalProperties',
  'additionalItems',
  'items',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
] as const
const severalKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'] as const
const namedKeywords = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
] as const
const [isOne, isSeveral, isNamed] = [oneKeywords, severalKeywords, namedKeywords].map(
  (each) => new Set<string>(each),
) as [Set<string>, Set<string>, Set<string>]
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

/** What a keyword that holds no schema must be. */
type Form = readonly [fits: (given: Json) => boolean, words: string]

const isText = (given: Json): boolean => typeof given === 'string'
const isTexts = (given: Json): boolean => Array.isArray(given) && (given as readonly Json[]).every(isText)
const isType = (given: Json): boolean => typeof given === 'string' && types.has(given)
const types: ReadonlySet<string> = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])
const count: Form = [(given) => typeof given === 'number' && Number.isInteger(given) && given >= 0, 'a count']
const number: Form = [(given) => typeof given === 'number', 'a number']
const flag: Form = [(given) => typeof given === 'boolean', 'true or false']
const text: Form = [isText, 'a text']
/** Draft 4 and OpenAPI 3.0 say `true` beside the bound. */
const exclusive: Form = [(given) => typeof given === 'number' || typeof given === 'boolean', 'a number']

const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  [
    'type',
    [
      (given) => isType(given) || (Array.isArray(given) && (given as readonly Json[]).every(isType)),
      `one of ${[...types].join(', ')}, or a list of them`,
    ],
  ],
  ['enum', [(given) => Array.isArray(given), 'a list']],
  ['required', [isTexts, 'a list of names']],
  ['minLength', count],
  ['maxLength', count],
  ['minItems', count],
  ['maxItems', count],
  ['minContains', count],
  ['maxContains', count],
  ['minProperties', count],
  ['maxProperties', count],
  ['minimum', number],
  ['maximum', number],
  ['exclusiveMinimum', exclusive],
  ['exclusiveMaximum', exclusive],
  ['multipleOf', [(given) => typeof given === 'number' && given > 0, 'a number above 0']],
  ['uniqueItems', flag],
  ['nullable', flag],
  ['$recursiveAnchor', flag],
  ['pattern', text],
  ['$ref', text],
  ['$dynamicRef', text],
  ['$recursiveRef', text],
  ['$anchor', text],
  ['$dynamicAnchor', text],
  ['$id', text],
  ['$schema', text],
  [
    'dependentRequired',
    [(given) => isObject(given) && Object.values(given).every((each) => isTexts(each)), 'lists of names by name'],
  ],
])

/** Keywords that decide: a name that is nearly one of them is a slip. */
const deciding: readonly string[] = [
  ...new Set([...oneKeywords, ...severalKeywords, ...namedKeywords, ...forms.keys(), 'const', '$ref']),
].filter((each) => !/^\$(?:anchor|id|schema|comment)$/i.test(each))
/** Names that mean something else, or nothing that decides, near one of those as they are. */
const annotations: ReadonlySet<string> = new Set([
  'id',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'format',
  'deprecated',
  'readOnly',
  'writeOnly',
  'discriminator',
  'definition',
  'property',
  'item',
  'enumNames',
  'optional',
  'ref',
  'notes',
  'note',
  'name',
  'names',
  'one',
  'types',
  'this',
  'that',
  'when',
  'i',
  'el',
  'constant',
  'constraints',
  'dependency',
  'dependents',
  'multiple',
  'requiredIf',
  'requires',
  'uniqueKeys',
])

/** Keywords that are told apart from a slip by their case alone are one: `minlength`, `additionalproperties`. */
function slipOf(keyword: string): string | undefined {
  if (annotations.has(keyword) || /^[$x]-|^x[A-Z]|[^A-Za-z$]/.test(keyword)) return undefined
  const lower = keyword.toLowerCase()
  const sameLetters = deciding.find((each) => each.toLowerCase() === lower)
  if (sameLetters !== undefined) return sameLetters
  // short words are too near to one another
  return keyword.length < 7 ? undefined : nearest(keyword, deciding)
}

const unnamed = 'https://schema.invalid/'

/** A JSON Schema, read. */
export class SchemaDocument {
  readonly root: SchemaNode
  readonly problems: SchemaProblem[] = []
  /** Whether what a reference means depends on who asks. */
  isDynamic = false
  #refers = false
  readonly #resources = new Map<string, Resource>()
  readonly #nodes = new Map<JsonObject, SchemaNode>()
  readonly #open: (readonly [node: SchemaNode, keyword: string, reference: string])[] = []
  readonly #dynamic = new Map<string, SchemaNode[]>()

  readonly #roots: SchemaNode[]

  constructor(schema: JsonObject | boolean, draft: Draft = 2020) {
    this.root = this.#read(schema, '', this.#resource(unnamed, draft))
    this.#roots = [this.root]
    this.#finish()
  }

  /** The node of a part of what was given, by identity. It may stand where no keyword of JSON Schema leads. */
  node(schema: JsonObject): SchemaNode {
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    const node = this.#read(schema, '#', this.root.resource)
    this.#roots.push(node)
    this.#finish()
    return node
  }

  #finish(): void {
    for (let next = this.#open.shift(); next !== undefined; next = this.#open.shift()) this.#resolve(...next)
    if (this.#refers) this.#cutLoops()
    this.#relax()
  }

  #resource(base: string, draft: Draft): Resource {
    const made: Omit<Resource, 'root'> = { base, draft, anchors: new Map(), dynamicAnchors: new Map() }
    return made as Resource
  }

  /** `keyword` of `node` is not read. */
  #lose(node: SchemaNode, keyword: string, problem: string, at = `${node.at}/${keyword}`): void {
    node.lost.add(keyword)
    this.problems.push({ at, problem })
  }

  #read(given: Json, at: string, outside: Resource): SchemaNode {
    if (!isObject(given)) {
      const node = new SchemaNode(typeof given === 'boolean' ? given : true, at, outside)
      outside.root ??= node
      if (typeof given !== 'boolean') this.#lose(node, '', `${describe(given)}, expected a schema`, at)
      return node
    }
    const known = this.#nodes.get(given)
    if (known !== undefined) return known
    const resource = this.#entered(given, at, outside)
    const node = new SchemaNode(given, at, resource)
    resource.root ??= node
    this.#nodes.set(given, node)
    this.#identify(node, given)
    const { isReferenceAlone } = node
    for (const [keyword, value] of Object.entries(given))
      if (value !== undefined && (!isReferenceAlone || keyword === '$ref')) this.#readKeyword(node, keyword, value)
    return node
  }

  /** The resource that a schema belongs to: its own, if it has an id. */
  #entered(given: JsonObject, at: string, outside: Resource): Resource {
    const id = own(given, outside.draft === 4 && own(given, '$id') === undefined ? 'id' : '$id')
    const isOwn =
      typeof id === 'string' && !(outside.draft <= 7 && (id.startsWith('#') || typeof own(given, '$ref') === 'string'))
    if (at !== '' && !isOwn) return outside
    const base = isOwn ? address(id, outside.base) : outside.base
    if (base === undefined) this.problems.push({ at: `${at}/$id`, problem: `${shown(id)} is not an address` })
    const dialect = own(given, '$schema')
    const draft = typeof dialect === 'string' ? draftNamed(dialect) : outside.draft
    if (draft === undefined)
      this.problems.push({
        at: `${at}/$schema`,
        problem: `the dialect ${shown(dialect)} is not known; known are drafts 4, 6, 7, 2019-09 and 2020-12`,
      })
    const resource = this.#resource((base ?? outside.base).replace(/#.*$/, ''), draft ?? outside.draft)
    if (!this.#resources.has(resource.base)) this.#resources.set(resource.base, resource)
    // nothing that an unknown dialect says is known
    if (draft === undefined || base === undefined) this.#unknown.add(resource)
    return resource
  }

  readonly #unknown = new Set<Resource>()

  #identify(node: SchemaNode, given: JsonObject): void {
    const { resource } = node
    if (this.#unknown.has(resource)) node.lost.add('')
    const [id, anchor, dynamic] = ['$id', '$anchor', '$dynamicAnchor'].map((each) => own(given, each))
    if (resource.draft <= 7 && typeof id === 'string' && id.startsWith('#')) resource.anchors.set(id.slice(1), node)
    if (typeof anchor === 'string') resource.anchors.set(anchor, node)
    if (typeof dynamic !== 'string') return
    resource.anchors.set(dynamic, node)
    resource.dynamicAnchors.set(dynamic, node)
    this.#dynamic.set(dynamic, [...(this.#dynamic.get(dynamic) ?? []), node])
  }

  #readKeyword(node: SchemaNode, keyword: string, value: Json): void {
    const { at, resource } = node
    const here = `${at}/${pointerPart(keyword)}`
    if (isSeveral.has(keyword) && Array.isArray(value)) {
      const list = value as readonly Json[]
      node.several.set(
        keyword,
        list.map((each, i) => this.#read(each, `${here}/${i}`, resource)),
      )
    } else if (isOne.has(keyword)) {
      if (isObject(value) || typeof value === 'boolean') node.one.set(keyword, this.#read(value, here, resource))
      else this.#lose(node, keyword, `${describe(value)}, expected a schema`)
    } else if (isNamed.has(keyword)) this.#readNamed(node, keyword, value)
    else if (isSeveral.has(keyword)) this.#lose(node, keyword, `${describe(value)}, expected a list of schemas`)
    else this.#readPlain(node, keyword, value)
  }

  #readNamed(node: SchemaNode, keyword: string, value: Json): void {
    if (!isObject(value)) return this.#lose(node, keyword, `${describe(value)}, expected schemas by name`)
    const here = `${node.at}/${keyword}`
    const found = new Map<string, SchemaNode>()
    for (const [name, each] of Object.entries(value)) {
      if (each === undefined || (keyword === 'dependencies' && isTexts(each))) continue
      if (keyword === 'patternProperties') {
        const pattern = readPattern(name)
        if (isUnread(pattern)) {
          this.#lose(node, keyword, patternProblem(name, pattern.problem))
          continue
        }
      }
      found.set(name, this.#read(each, `${here}/${pointerPart(name)}`, node.resource))
    }
    node.named.set(keyword, found)
    return undefined
  }

  #readPlain(node: SchemaNode, keyword: string, value: Json): void {
    const form = forms.get(keyword)
    if (form === undefined) {
      const meant = slipOf(keyword)
      if (meant !== undefined && keyword !== 'const' && !deciding.includes(keyword))
        this.#lose(node, keyword, `unknown keyword ${shown(keyword)}: did you mean "${meant}"?`)
    } else if (!form[0](value)) this.#lose(node, keyword, `${describe(value)}, expected ${form[1]}`)
    else if (keyword === 'pattern') {
      const pattern = readPattern(value as string)
      if (isUnread(pattern)) this.#lose(node, keyword, patternProblem(value as string, pattern.problem))
    } else if (references.has(keyword)) this.#open.push([node, keyword, value as string])
  }

  #resolve(node: SchemaNode, keyword: string, reference: string): void {
    const found = this.#found(node.resource, reference)
    if (typeof found === 'string') return this.#lose(node, keyword, `${shown(reference)} ${found}`)
    node.references.set(keyword, found)
    this.#refers = true
    if (keyword !== '$ref') this.isDynamic = true
    return undefined
  }

  /** What a reference means, or why it means nothing. */
  #found(from: Resource, reference: string): SchemaNode | string {
    const there = reference.startsWith('#') ? `${from.base}${reference}` : address(reference, from.base)
    if (there === undefined) return 'is not an address'
    const [base = '', ...rest] = there.split('#')
    const resource = base === from.base ? from : this.#resources.get(base)
    if (resource === undefined) return 'is not in this schema, and other documents are not fetched'
    let fragment: string
    try {
      fragment = decodeURIComponent(rest.join('#'))
    } catch {
      return 'is not an address'
    }
    if (fragment === '') return resource.root
    if (fragment.startsWith('/')) return this.#pointed(resource, fragment)
    return resource.anchors.get(fragment) ?? 'names an anchor that is not in this schema'
  }

  #pointed(from: Resource, pointer: string): SchemaNode | string {
    let resource = from
    let at: Json | undefined = from.root.schema
    for (const part of pointer.slice(1).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(at)) at = /^(?:0|[1-9]\d*)$/.test(name) ? (at as readonly Json[])[Number(name)] : undefined
      else at = isObject(at) ? own(at, name) : undefined
      resource = (isObject(at) ? this.#nodes.get(at)?.resource : undefined) ?? resource
    }
    if (at === undefined) return 'names a place that is not in this schema'
    if (!isObject(at) && typeof at !== 'boolean') return 'names something that is not a schema'
    return this.#read(at, `${from.root.at}${pointer}`, resource)
  }

  /** References that come back to their own schema without having looked into the value. */
  #cutLoops(): void {
    const done = new Set<SchemaNode>()
    for (const first of this.#every()) {
      if (done.has(first)) continue
      const path = new Set<SchemaNode>([first])
      const stack = [{ node: first, next: [...first.inPlace()] }]
      for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
        const below = top.next.pop()
        if (below === undefined) {
          path.delete(top.node)
          done.add(top.node)
          stack.pop()
        } else if (path.has(below)) this.#cutLoop([...stack.map(({ node }) => node), below])
        else if (!done.has(below)) {
          path.add(below)
          stack.push({ node: below, next: [...below.inPlace()] })
        }
      }
    }
  }

  /** `path` ends with a node that stands in it before; a reference of that loop is taken out. */
  #cutLoop(path: readonly SchemaNode[]): void {
    for (let i = path.indexOf(path.at(-1)!); i < path.length - 1; i++) {
      const node = path[i]!
      for (const [keyword, found] of node.references) {
        if (found !== path[i + 1]) continue
        const reference = node.get(keyword)
        node.references.delete(keyword)
        return this.#lose(node, keyword, `${shown(reference)} comes back to its own schema without end`)
      }
    }
    return undefined
  }

  #every(): ReadonlySet<SchemaNode> {
    const found = new Set(this.#roots)
    for (const node of found) for (const each of node.all()) found.add(each)
    return found
  }

  #relax(): void {
    if (this.problems.length === 0) return
    const every = this.#every()
    // what these mean depends on who asks: it may be any schema
    const dynamic = [...every].filter(({ references: of }) => of.has('$dynamicRef') || of.has('$recursiveRef'))
    const spread = (
      from: readonly SchemaNode[],
      edges: (node: SchemaNode) => Iterable<SchemaNode>,
    ): Set<SchemaNode> => {
      const above = new Map<SchemaNode, SchemaNode[]>()
      for (const node of every)
        for (const each of edges(node)) {
          const known = above.get(each)
          if (known === undefined) above.set(each, [node])
          else known.push(node)
        }
      const reached = new Set(from.length === 0 ? from : [...from, ...dynamic])
      for (const node of reached) for (const each of above.get(node) ?? []) reached.add(each)
      return reached
    }
    const lost = [...every].filter((node) => node.lost.size > 0)
    for (const node of spread(lost, (each) => each.all())) node.isRelaxed = true
    const nameless = [...every].filter(
      (node) => [...node.lost].some((each) => namesKeywords.has(each)) || node.one.get('if')?.isRelaxed === true,
    )
    for (const node of spread(nameless, (each) => each.inPlace())) node.losesNames = true
  }
}

/** Keywords that make members or items known. */
const namesKeywords: ReadonlySet<string> = new Set([
  '',
  ...references,
  ...namedKeywords,
  ...oneKeywords,
  ...severalKeywords,
])

const describe = (given: unknown): string => cut(described(given), 200)
const pointerPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
const shown = (given: Json | undefined): string => cut(JSON.stringify(given) ?? '', 200)
const patternProblem = (pattern: string, problem: string): string => `the pattern ${shown(pattern)} ${problem}`

function address(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href
}
