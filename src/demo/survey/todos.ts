/**
 * The survey of loose ends: TODO, FIXME, HACK and XXX in comments, with the age of the line where git knows it.
 * Owns: what counts as a marker, ages. Does not own: what is a comment (`comments.ts`), when a line was written (`git.ts`).
 *
 * T1: an age that is not known is `null`, never 0. T2: a secret in a quoted line is masked.
 */
import { commentsOf } from './comments.ts'
import { openRepository } from './git.ts'
import { languageOf, type Language } from './languages.ts'
import { withoutSecrets } from './secret-rules.ts'
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
  /** Files whose comments this survey cannot tell from the rest, and which were therefore not searched. */
  notSearched: number
}

/** A marker opens its comment or a sentence in it, or stands before a colon or a name in brackets; a mention within a sentence is none. */
const marker = /(?:^[\s/*#;%!@-]*|(?:\/\/|[.!?])\s+)\b(TODO|FIXME|HACK|XXX)\b(?!\s*[,/|]|-\S)|\b(TODO|FIXME|HACK|XXX)\b(?=\s?:|\([^)]+\))/
const inProse = /^(?:[\s>#*+-]|\d+[.)]|\[[ xX]\])*(?:\*\*|__)?\b(TODO|FIXME|HACK|XXX)\b(?=[:(]|\*\*|__|\s+-|\s*$)/
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
    const language = languageOf(path) ?? scriptByShebang(text)
    if (language === null) {
      notSearched++
      continue
    }
    const here = inText(path, text, language)
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

function scriptByShebang(text: string): Language | null {
  if (!text.startsWith('#!')) return null
  const script = /\b(node|deno|bun|tsx)\b/.test(linesOf(text.slice(0, 200))[0] ?? '')
  return { name: 'Script', comments: script ? 'script' : 'hash', code: true }
}

function inText(path: string, text: string, language: Language): TodoFinding[] {
  if (language.comments === 'none' || !/TODO|FIXME|HACK|XXX/.test(text)) return []
  const comments = commentsOf(text, language.comments) ?? proseOf(text)
  const pattern = language.comments === 'prose' ? inProse : marker
  return comments.flatMap((comment, index) => {
    const match = pattern.exec(comment)
    const word = (match?.[1] ?? match?.[2]) as TodoMarker | undefined
    if (match === null || word === undefined) return []
    const from = match.index + match[0].length - word.length
    return [{ file: path, line: index + 1, marker: word, text: shown(comment.slice(from)), since: null, ageDays: null }]
  })
}

/** The lines of a text for people, its fenced code left out and its hidden comments opened. */
function proseOf(text: string): string[] {
  let fence: string | null = null
  return linesOf(text).map((line) => {
    const mark = /^\s*(?:>\s*)*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === null && mark !== undefined) fence = mark
    else if (fence !== null && mark !== undefined && mark.startsWith(fence)) fence = null
    else if (fence === null) return line.replace(/^\s*<!--/, '')
    return ''
  })
}

function shown(comment: string): string {
  const text = withoutSecrets(
    comment
      .replace(/(\*\/|-->)\s*$/, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
  return text.length <= 160 ? text : `${text.slice(0, 159)}…`
}

function dated(todo: TodoFinding, seconds: number | undefined, now: number | undefined): TodoFinding {
  if (seconds === undefined) return todo
  const since = new Date(seconds * 1000).toISOString().slice(0, 10)
  if (now === undefined || seconds * 1000 > now + day) return { ...todo, since }
  return { ...todo, since, ageDays: Math.max(0, Math.floor((now - seconds * 1000) / day)) }
}
