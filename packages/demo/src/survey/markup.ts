/**
 * Small pieces of Markdown for the report. Owns: quoting what users wrote so that it cannot become markup, numbers,
 * tables.
 * Does not own: what is said (`report.ts`, `report-sections.ts`, `concerns.ts`).
 */

/**
 * Text of a user's file as inline code: on one line, whatever backticks it holds. Control and direction characters are
 * dropped.
 */
export function code(text: string): string {
  const line = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '')
    .trim()
  if (line === '') return '` `'
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map((run) => run[0].length))
  const fence = '`'.repeat(longest + 1)
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${line}${pad}${fence}`
}

/** A place in a file, as inline code: `src/a.ts:12`. */
export function place(file: string, line?: number): string {
  return code(line === undefined ? file : `${file}:${line}`)
}

/** Words of someone else outside code: markup and HTML taken out of action, on one line. */
export function plainText(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[\\`*_{}[\]<>|#~]/g, String.raw`\$&`)
}

/** `1 file`, `1,234 files`. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : more}`
}

/** A whole number with thousands separated, the same on every machine. */
export function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** A size in bytes for people: 1 KB is 1,024 bytes. */
export function sized(bytes: number): string {
  if (bytes < 1024) return many(bytes, 'byte')
  const units = ['KB', 'MB', 'GB', 'TB']
  let value = bytes / 1024
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${value < 10 ? value.toFixed(1) : grouped(Math.round(value))} ${units[unit] ?? 'TB'}`
}

/** A table; a column whose title starts with `>` is aligned to the right. Pipes in cells are escaped. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`
  const shown = titles.map((title) => title.replace(/^>/, ''))
  return [
    line(shown),
    `| ${titles.map((title) => (title.startsWith('>') ? '---:' : '---')).join(' | ')} |`,
    ...rows.map(line),
    '',
  ]
}

/** A list as a sentence part: `a, b and c`. */
export function joined(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1) ?? ''}`
}
