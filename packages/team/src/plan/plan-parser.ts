/**
 * Plan parser: from any output of a planner to tasks whose fields have the types they should have.
 *
 * Owns: the types of every field, what is cleaned without a word. Does not own: the names of the fields (fields.ts),
 * what makes a well-formed plan impossible (validate.ts). Pure. Fields that there are not are noted and passed over:
 * models invent them.
 */
import {
  copy,
  described,
  fileHandle,
  filesNamed,
  isObject,
  jsonProblem,
  present,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { overseenOf } from './task-oversight.ts'
import type { DependencyPolicy, TeamStrategy } from '@reeve/journal'
import { fieldOf, unknownFields, type UnknownField } from './fields.ts'
import type { Estimate, Plan, Subtask } from './plan.ts'

/** What is wrong with a plan, and what is doubtful, one sentence each. */
export interface Notes {
  readonly problems: string[]
  readonly warnings: string[]
  /** Fields that there are not. */
  readonly unknown: UnknownField[]
}

/**
 * A plan as it was read: `agentTypes` by place, blanks left out. A task that has no id that can be read has an empty
 * one.
 */
export interface ReadPlan extends Omit<Plan, 'agentTypes'> {
  readonly agentTypes: readonly (string | undefined)[]
  readonly complexity: number
}

/** The complexity of a plan that states none. */
const defaultComplexity = 0.5

/** The files of the request by their handles. */
export type RequestFiles = ReadonlyMap<string, FilePart>

/**
 * Reads a plan; undefined if it is none at all. Adds to the notes. `files`: those that its tasks may name; undefined: the
 * field is none.
 */
export function readPlan(given: unknown, notes: Notes, files?: RequestFiles): ReadPlan | undefined {
  if (!isObject(given)) {
    notes.problems.push(`the plan is ${described(given)}, expected an object with subtasks`)
    return undefined
  }
  notes.unknown.push(...unknownFields(given, 'plan', 'the plan'))
  const subtasks = fieldOf(given, 'subtasks')
  if (!Array.isArray(subtasks))
    notes.problems.push(
      `subtasks is ${subtasks === undefined ? 'missing' : described(subtasks)}, expected a list of tasks`,
    )
  const strategy = strategyOf(fieldOf(given, 'strategy'), notes)
  const concurrencyLimit = concurrencyOf(fieldOf(given, 'concurrencyLimit'), notes)
  return {
    subtasks: Array.isArray(subtasks)
      ? Array.from(subtasks as readonly unknown[], (each, i) => taskOf(each, i, notes, files))
      : [],
    agentTypes: agentTypesOf(fieldOf(given, 'agentTypes'), notes),
    complexity: complexityOf(fieldOf(given, 'complexity'), notes),
    ...present({ strategy, concurrencyLimit }),
  }
}

/** How a task is called in notes. */
export const called = (id: string, place: number): string => (id === '' ? `subtasks[${place}]` : `task "${id}"`)

function taskOf(given: unknown, place: number, notes: Notes, files: RequestFiles | undefined): Subtask {
  if (!isObject(given)) {
    notes.problems.push(`subtasks[${place}] is ${described(given)}, expected a task`)
    return { id: '', description: '' }
  }
  const id = idOf(fieldOf(given, 'id'), place, notes)
  const where = called(id, place)
  notes.unknown.push(...unknownFields(given, 'task', where, files !== undefined))
  const description = fieldOf(given, 'description')
  if (typeof description !== 'string' || description.trim() === '')
    notes.problems.push(`${where}: description is ${lacking(description)}, expected what is to be done`)
  const role = textOf(given, 'role', where, notes)
  const taskType = textOf(given, 'taskType', where, notes)
  const lists = Object.fromEntries(
    (['dependencies', 'produces', 'consumes', 'tools'] as const).flatMap((name) => {
      const list = namesOf(fieldOf(given, name), `${where}: ${name}`, notes)
      return list === undefined || list.length === 0 ? [] : [[name, list]]
    }),
  )
  const onMissing = policyOf(fieldOf(given, 'onMissing'), where, notes)
  const critical = fieldOf(given, 'critical')
  if (critical !== undefined && typeof critical !== 'boolean')
    notes.problems.push(`${where}: critical is ${described(critical)}, expected true or false`)
  const overseen = overseenOf(given, where, notes.problems)
  const estimate = estimateOf(fieldOf(given, 'estimate'), where, notes)
  const toolParameters = parametersOf(fieldOf(given, 'toolParameters'), where, notes)
  const input = inputOf(given, where, notes)
  const named = files === undefined ? undefined : handlesOf(fieldOf(given, 'files'), files, where, notes)
  return {
    id,
    description: typeof description === 'string' ? description : '',
    ...present({ role }),
    ...lists,
    ...present({ onMissing }),
    ...(critical === true ? { critical } : undefined),
    ...overseen,
    ...present({ estimate, toolParameters, input, files: named, taskType }),
  }
}

const lacking = (given: unknown): string =>
  given === undefined ? 'missing' : typeof given === 'string' && given.trim() === '' ? 'empty' : described(given)

function idOf(given: unknown, place: number, notes: Notes): string {
  if (typeof given === 'string' && given.trim() !== '') return given.trim()
  notes.problems.push(`subtasks[${place}]: id is ${lacking(given)}, expected a text`)
  return ''
}

/** A text without white space around it; undefined if it says nothing. */
function textOf(task: JsonObject, name: string, where: string, notes: Notes): string | undefined {
  const given = fieldOf(task, name)
  if (given === undefined) return undefined
  if (typeof given === 'string') return given.trim() === '' ? undefined : given.trim()
  notes.problems.push(`${where}: ${name} is ${described(given)}, expected a text`)
  return undefined
}

/** Names, each once. */
function namesOf(given: unknown, where: string, notes: Notes): readonly string[] | undefined {
  if (given === undefined) return undefined
  if (!Array.isArray(given)) {
    notes.problems.push(`${where} is ${described(given)}, expected a list of names`)
    return undefined
  }
  const names = Array.from(given as readonly unknown[]).flatMap((each, i) => {
    if (typeof each === 'string' && each.trim() !== '') return [each.trim()]
    notes.problems.push(`${where}[${i}] is ${lacking(each)}, expected a name`)
    return []
  })
  return [...new Set(names)]
}

/** Files by their handles, each once. */
function handlesOf(given: unknown, files: RequestFiles, where: string, notes: Notes): readonly string[] | undefined {
  const named = filesNamed(given as Json | undefined, files, 'the request')
  if (typeof named !== 'string') return named.length === 0 ? undefined : named.map(fileHandle)
  notes.problems.push(`${where}: ${named}`)
  return undefined
}

const policies: ReadonlySet<unknown> = new Set<DependencyPolicy>(['tolerate', 'require', 'fail'])

function policyOf(given: unknown, where: string, notes: Notes): Subtask['onMissing'] {
  const problem = (name: string, word: unknown): void => {
    notes.problems.push(`${where}: ${name} is ${described(word)}, expected "tolerate", "require" or "fail"`)
  }
  if (given === undefined || policies.has(given)) return given as Subtask['onMissing']
  if (!isObject(given)) {
    problem('onMissing', given)
    return undefined
  }
  for (const [id, word] of Object.entries(given)) if (!policies.has(word)) problem(`onMissing.${id}`, word)
  return copy(given) as Readonly<Record<string, DependencyPolicy>>
}

/** Numbers that JSON cannot hold stand in records by their names. */
const named: ReadonlyMap<unknown, number> = new Map([NaN, Infinity, -Infinity].map((each) => [String(each), each]))
const numberOf = (given: unknown): number | undefined => (typeof given === 'number' ? given : named.get(given))

function estimateOf(given: unknown, where: string, notes: Notes): Estimate | undefined {
  if (given === undefined) return undefined
  const tokens = numberOf(given)
  const estimate: unknown = tokens === undefined ? given : { tokens }
  if (!isObject(estimate)) {
    notes.problems.push(`${where}: estimate is ${described(estimate)}, expected { tokens, usd }`)
    return undefined
  }
  const clean = (['tokens', 'usd'] as const).flatMap((name) => {
    const value = fieldOf(estimate, name)
    const number = numberOf(value)
    if (value === undefined) return []
    if (number === undefined)
      notes.problems.push(`${where}: estimate.${name} is ${described(value)}, expected a number`)
    else if (!Number.isFinite(number) || number < 0)
      notes.warnings.push(`${where}: estimate.${name} is ${number}, and is ignored`)
    else return [[name, number] as const]
    return []
  })
  return clean.length === 0 ? undefined : Object.fromEntries(clean)
}

function parametersOf(given: unknown, where: string, notes: Notes): JsonObject | undefined {
  if (given === undefined) return undefined
  const problem = isObject(given)
    ? jsonProblem(given, 'toolParameters')
    : `toolParameters is ${described(given)}, expected an object`
  if (problem === undefined)
    return Object.keys(given as JsonObject).length === 0 ? undefined : copy(given as JsonObject)
  notes.problems.push(`${where}: ${problem}`)
  return undefined
}

/** Null is an input like any other. */
function inputOf(task: JsonObject, where: string, notes: Notes): Json | undefined {
  const given = Object.hasOwn(task, 'input') ? task['input'] : undefined
  if (given === undefined) return undefined
  const problem = jsonProblem(given, 'input')
  if (problem === undefined) return copy(given)
  notes.problems.push(`${where}: ${problem}`)
  return undefined
}

function agentTypesOf(given: unknown, notes: Notes): readonly (string | undefined)[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    notes.problems.push(`agentTypes is ${described(given)}, expected a list of roles`)
    return []
  }
  return Array.from(given as readonly unknown[], (each, i) => {
    if (each === null || each === undefined) return undefined
    if (typeof each === 'string') return each.trim() === '' ? undefined : each.trim()
    notes.problems.push(`agentTypes[${i}] is ${described(each)}, expected a role`)
    return undefined
  })
}

function complexityOf(given: unknown, notes: Notes): number {
  if (given === undefined) return defaultComplexity
  const number = numberOf(given)
  if (number === undefined) {
    notes.problems.push(`complexity is ${described(given)}, expected a number between 0 and 1`)
    return defaultComplexity
  }
  if (number >= 0 && number <= 1) return number
  const taken = Number.isNaN(number) ? defaultComplexity : number < 0 ? 0 : 1
  notes.warnings.push(`complexity is ${number}, expected a number between 0 and 1: ${taken} is taken`)
  return taken
}

const strategies: ReadonlySet<string> = new Set<TeamStrategy>(['parallel', 'sequential', 'hybrid'])

function strategyOf(given: unknown, notes: Notes): TeamStrategy | undefined {
  if (given === undefined) return undefined
  const word = typeof given === 'string' ? given.trim().toLowerCase() : undefined
  if (word !== undefined && strategies.has(word)) return word as TeamStrategy
  if (word === undefined)
    notes.problems.push(`strategy is ${described(given)}, expected "parallel", "sequential" or "hybrid"`)
  else notes.warnings.push(`unknown strategy ${JSON.stringify(given)}: "hybrid" is used`)
  return 'hybrid'
}

/** R-2b: what is no limit is none, and never becomes 1. */
function concurrencyOf(given: unknown, notes: Notes): number | undefined {
  if (given === undefined) return undefined
  const number = numberOf(given)
  if (number !== undefined && Number.isSafeInteger(number) && number > 0) return number
  notes.warnings.push(
    `concurrencyLimit is ${number ?? described(given)}, expected a whole number of at least 1: it is ignored`,
  )
  return undefined
}
