/**
 * The search of the documentation: sections by the words of a question.
 *
 * Owns: what is indexed, and the order of what is found. Does not own: the ranking of words (SQLite's FTS5).
 * Holds: a question is data: nothing in it is a query.
 */
import { DatabaseSync } from 'node:sqlite'
import { sectionsOf, type Manual } from './pages.ts'

/** A section that may answer. */
export interface Found {
  /** What `page` takes: `docs/how-to/tools.md#effects`, or the name of an example. */
  readonly address: string
  readonly title: string
  /** The words around what was found, on one line. */
  readonly excerpt: string
}

/** Words that every question has, and no answer is found by. */
const empty = new Set(
  'a an and any are as at be by can could do does for from get give has have how i if in into is it its me must my no not of on one or our out say should so tell that the their them then there they this to up us use using want was we what when where which while who why will with without would you your reeve'.split(
    ' ',
  ),
)

/** What programs and lists of names say is found, too, behind the pages that explain it. */
const weightOf = (address: string): number =>
  address.startsWith('docs/reference/api/') ? 0.4 : /^docs\/(reference|performance)|^\d\d-/.test(address) ? 0.75 : 1

/** Of one page so many sections are told: the others are on it. */
const mostOfPage = 2

/** An index of a manual, in memory. Made in some tens of milliseconds. */
export class ManualSearch {
  readonly #db = new DatabaseSync(':memory:')

  constructor(manual: Manual) {
    this.#db.exec(
      "CREATE VIRTUAL TABLE section USING fts5(address UNINDEXED, title, heading, wanted, body, tokenize = 'porter unicode61')",
    )
    const insert = this.#db.prepare('INSERT INTO section VALUES (?, ?, ?, ?, ?)')
    this.#db.exec('BEGIN')
    for (const page of manual.pages)
      for (const [at, { address, heading, text }] of sectionsOf(page).entries())
        insert.run(address, page.title, heading, [at === 0 ? page.wanted : '', ...wordsIn(text)].join(' '), plain(text))
    for (const { name, about, text } of manual.examples) insert.run(name, about, name.slice(3), '', plain(text))
    this.#db.exec('COMMIT')
  }

  /** The best first; empty if no word of the question is anywhere. `most`: default 8. */
  find(question: string, most = 8): readonly Found[] {
    const words = wordsOf(question)
    if (words.length === 0) return []
    const rows = this.#db
      .prepare(
        `SELECT address, title, heading, bm25(section, 0, 3, 5, 6, 1) AS rank,
          snippet(section, 4, '', '', ' … ', 40) AS excerpt
        FROM section WHERE section MATCH ? ORDER BY rank LIMIT 60`,
      )
      .all(words.map((word) => `"${word}"`).join(' OR ')) as unknown as FoundRow[]
    const told = new Map<string, number>()
    return rows
      .map((row) => ({ ...row, rank: row.rank * weightOf(row.address) }))
      .toSorted((a, b) => a.rank - b.rank)
      .filter(({ address }) => {
        const page = address.split('#')[0]!
        told.set(page, (told.get(page) ?? 0) + 1)
        return told.get(page)! <= mostOfPage
      })
      .slice(0, most)
      .map(({ address, title, heading, excerpt }) => ({
        address,
        title: heading === title || !address.includes('#') ? title : `${title} › ${heading}`,
        excerpt: excerpt.replaceAll(/\s+/g, ' ').trim(),
      }))
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}

interface FoundRow {
  readonly address: string
  readonly title: string
  readonly heading: string
  readonly rank: number
  readonly excerpt: string
}

/** The words that count, so many at most. */
const wordsOf = (question: string): readonly string[] => {
  const all = question.slice(0, 2_000).match(/[\p{L}\p{N}]+/gu) ?? []
  const counting = all.filter((word) => !empty.has(word.toLowerCase()))
  return [...new Set(counting.length > 0 ? counting : all)].slice(0, 40)
}

/** The words of users that a section says it answers: `<!-- words: cron, schedule -->`. */
const wordsIn = (text: string): readonly string[] =>
  [...text.matchAll(/<!-- words: (.*?) -->/g)].map(([, words]) => words!)

/** Markdown as words: addresses of links and marks are none. */
const plain = (text: string): string =>
  text
    .replaceAll(/<!--[\s\S]*?-->/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[*`|[\]#]/g, ' ')
