/**
 * The survey of loose ends: TODO, FIXME, HACK and XXX in comments, with the age of the line where git knows it.
 * Owns: what counts as a marked comment, and its age. Does not own: when a line was written (`git.ts`).
 *
 * T1: an age that is not known is `null`, never 0. T2: a secret in a quoted line is masked. A comment is found line by
 * line, not by parsing: a marker inside a string is left out, one inside a block comment counts where its line begins
 * with `*`.
 */
import { openRepository } from './git.ts'
import { languageOf, type Language } from './languages.ts'
import { withoutSecrets } from './masking.ts'
import { linesOf, listed, openFolder, type Coverage, type Listed, type SurveyOptions } from './walk.ts'

/** The words that mark a loose end. */
export type TodoMarker = 'TODO' | 'FIXME' | 'HACK' | 'XXX'

/** A marked line. */
export interface TodoFinding {
  file: string
  /** 1-based. */
  line: number
  marker: TodoMarker
  /** The comment from the marker on, at most 160 characters, secrets masked. */
  text: string
  /** The day git says the line was written (author date, UTC, `YYYY-MM-DD`), or `null` when git cannot say. */
  since: string | null
  /** Whole days from then to `now`; `null` when unknown. */
  ageDays: number | null
}

/** What the survey of loose ends found, in order of file and line. */
export interface TodosFindings {
  area: 'todos'
  coverage: Coverage
  todos: Listed<TodoFinding>
  markers: Record<TodoMarker, number>
  /** How many of all the findings have no known age. */
  unknownAge: number
  /** Text files that were not searched, because their names do not tell how they write comments. */
  notSearched: number
}

const opener = /(?<=^|\s)(?:\/\/|\/\*|\{\/\*|<!--|#|--|;|%)|^\s*\*/g
/**
 * A marker opens its comment or a sentence in it, or stands before a colon or a name in brackets; a mention within a
 * sentence is none.
 */
const marker =
  /(?:^[\s/*#;%!@{<-]*|[.!?]\s+)\b(TODO|FIXME|HACK|XXX)\b(?!\s*[,/|]|-\S)|\b(TODO|FIXME|HACK|XXX)\b(?=\s?:|\([^)]+\))/
const inProse = /^(?:[\s>#*+-]|\d+[.)]|\[[ xX]\]|<!--)*(?:\*\*|__)?\b(TODO|FIXME|HACK|XXX)\b(?=[:(]|\*\*|__|\s+-|\s*$)/
/** Longer lines were written by a program. */
const longestLine = 2_000
const day = 86_400_000

/** Looks for marked comments and asks git for the age of each. Without `now` every age is `null`. */
export async function surveyTodos(root: string, options: SurveyOptions = {}): Promise<TodosFindings> {
  const folder = await openFolder(root, options)
  await using git = await openRepository(folder.root, options)
  const found: TodoFinding[] = []
  let notSearched = 0
  for (const { path } of folder.files) {
    const text = await folder.text(path)
    if (text === null) continue
    const language = languageOf(path) ?? (text.startsWith('#!') ? 'script' : null)
    if (language === null) notSearched++
    const here = language === null ? [] : markedLines(path, text, language)
    if (here.length === 0) continue
    const times = await git?.lineTimes(path, text)
    found.push(...here.map((todo) => dated(todo, times?.get(todo.line), options.now)))
  }
  const markers: Record<TodoMarker, number> = { TODO: 0, FIXME: 0, HACK: 0, XXX: 0 }
  for (const todo of found) markers[todo.marker]++
  const unknownAge = found.filter((todo) => todo.ageDays === null).length
  const coverage = folder.coverage()
  const truncated = [coverage.truncated, git?.gaveUp ?? null].filter((said) => said !== null)
  if (truncated.length > 0) coverage.truncated = truncated.join('; ')
  return { area: 'todos', coverage, todos: listed(found, folder.limits), markers, unknownAge, notSearched }
}

function markedLines(file: string, text: string, language: Language | 'script'): TodoFinding[] {
  const isProse = language !== 'script' && language.kind === 'prose'
  if ((language !== 'script' && language.kind === 'data') || !/TODO|FIXME|HACK|XXX/.test(text)) return []
  const lines = isProse ? withoutFences(linesOf(text)) : linesOf(text)
  return lines.flatMap((line, index) => {
    if (line.length > longestLine || !/TODO|FIXME|HACK|XXX/.test(line)) return []
    const comment = isProse ? line : commentIn(line)
    const match = (isProse ? inProse : marker).exec(comment)
    const word = (match?.[1] ?? match?.[2]) as TodoMarker | undefined
    if (match === null || word === undefined) return []
    const from = match.index + match[0].length - word.length
    return [{ file, line: index + 1, marker: word, text: shown(comment.slice(from)), since: null, ageDays: null }]
  })
}

/** The comment that ends a line: from the first opener that stands in no string. */
function commentIn(line: string): string {
  const openers = [...line.matchAll(opener)].slice(0, 20)
  const start = openers.find(({ index }) => !isInString(line.slice(0, index)))
  return start === undefined ? '' : line.slice(start.index)
}

/** Whether a quote is open at the end of a piece of code. An apostrophe within a word opens nothing. */
function isInString(before: string): boolean {
  let open = ''
  for (const [char] of before.replaceAll(/\\.|\w'\w/g, '').matchAll(/["'`]/g))
    open = open === '' ? char : open === char ? '' : open
  return open !== ''
}

/** The lines of a text for people, its fenced code blanked. */
function withoutFences(lines: readonly string[]): string[] {
  let fence: string | null = null
  return lines.map((line) => {
    const mark = /^[\s>]*(`{3,}|~{3,})/.exec(line)?.[1]
    const isText = fence === null && mark === undefined
    if (fence === null) fence = mark ?? null
    else if (mark?.startsWith(fence) === true) fence = null
    return isText ? line : ''
  })
}

function shown(comment: string): string {
  const text = comment.replace(/(\*\/\}?|-->)\s*$/, '').replaceAll(/\s+/g, ' ')
  const masked = withoutSecrets(text.trim())
  return masked.length <= 160 ? masked : `${masked.slice(0, 159)}…`
}

function dated(todo: TodoFinding, seconds: number | undefined, now: number | undefined): TodoFinding {
  if (seconds === undefined) return todo
  const since = new Date(seconds * 1000).toISOString().slice(0, 10)
  if (now === undefined || seconds * 1000 > now + day) return { ...todo, since }
  return { ...todo, since, ageDays: Math.max(0, Math.floor((now - seconds * 1000) / day)) }
}
