/**
 * Keeps the table of routes in `docs/reference/http.md`, and the statuses in `docs/reference/errors.md`, those of the server.
 *
 * `node scripts/routes.ts` writes them, a test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorStatuses } from '../packages/server/src/error-status.ts'
import { routes } from '../packages/server/src/routes/index.ts'

const docs = join(dirname(import.meta.dirname), 'docs')

/** A page as it is, and as it is to be. */
interface PageState {
  readonly path: string
  readonly now: string
  readonly due: string
}

const between = (text: string, name: string, table: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name}:[^>]*-->)[\\s\\S]*?(<!-- /${name} -->)`),
    (_all, begin: string, end: string) => `${begin}\n\n${table}\n\n${end}`,
  )

function page(file: string, name: string, table: string): PageState {
  const path = join(docs, file)
  const now = readFileSync(path, 'utf8')
  return { path, now, due: between(now, name, table) }
}

function routeTable(): string {
  const rows = routes.map(({ method, path, role, summary, query }) => {
    const names = Object.keys((query?.schema['properties'] ?? {}) as object)
    const asked = names.length === 0 ? '' : ` \`?${names.join('&')}\``
    return `| \`${method} ${path}\`${asked} | ${role} | ${summary} |`
  })
  return ['| route | role | what |', '|---|---|---|', ...rows].join('\n')
}

function statusTable(): string {
  const codes = Object.entries(errorStatuses)
  const statuses = [...new Set(codes.map(([, status]) => status))].sort((a, b) => a - b)
  const rows = statuses.map((status) => {
    const of = codes.filter((each) => each[1] === status).map(([code]) => `\`${code}\``)
    return `| ${status} | ${of.join(', ')} |`
  })
  return ['| status | codes |', '|---|---|', ...rows].join('\n')
}

/** The pages with a table of the server. */
export const serverPages = (): readonly PageState[] => [
  page('reference/http.md', 'routes', routeTable()),
  page('reference/errors.md', 'statuses', statusTable()),
]

if (import.meta.main) for (const { path, due } of serverPages()) writeFileSync(path, due)
