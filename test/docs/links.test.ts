/** Links and paths of the pages: each relative link, its heading, and each path into a room leads somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { pages as docPages } from '../../scripts/snippets.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const pages = [...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'README.md'), ...docPages]

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/gu, '-'),
  )

test('every relative link leads to a file, and to a heading of it', () => {
  const lost = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
      if (/^[a-z]+:/.test(link!)) return []
      const [path = '', anchor] = link!.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      const leads =
        existsSync(join(root, target)) &&
        (anchor === undefined || !target.endsWith('.md') || anchors(target).includes(anchor))
      return leads ? [] : [`${page}: ${link}`]
    }),
  )
  expect(lost).toEqual([])
})

test('every path into a room or a folder of the repository is there', () => {
  const folders = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []))
  const rooms = folders('packages')
  const tops = folders('.')
  // decisions and the changelog tell of what there was
  const current = pages.filter((page) => page !== 'CHANGELOG.md' && !page.startsWith('docs/decisions/'))
  const lost = current.flatMap((page) =>
    [...read(page).matchAll(/`([\w.-]+\/[\w./-]*)`/g)].flatMap(([, given]) => {
      // as its users find it; the build writes the text of all pages
      const path = given!.replace(/^node_modules\/reeve\//, '')
      if (path === 'llms-full.txt') return []
      const top = path.split('/')[0]!
      const isThere = existsSync(join(root, path)) || existsSync(join(root, 'packages', path.replace('/', '/src/')))
      return isThere || !(rooms.includes(top) || tops.includes(top) || path.endsWith('.ts')) ? [] : [`${page}: ${path}`]
    }),
  )
  expect(lost).toEqual([])
})

test('every page is in the index, but for decisions and the pages of the API, which have lists of their own', () => {
  const listed = read('docs/README.md')
  const apart = /^docs\/(?:README\.md|decisions\/|reference\/api\/)/
  const pagesOfDocs = docPages.filter((page) => page.startsWith('docs/') && !apart.test(page))
  expect(pagesOfDocs.length).toBeGreaterThan(60)
  expect(pagesOfDocs.filter((page) => !listed.includes(`](${page.slice('docs/'.length)}`))).toEqual([])
})
