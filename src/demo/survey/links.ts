/**
 * The survey of links: relative links in Markdown that lead nowhere.
 * Owns: whether a target exists. Does not own: reading Markdown (`markdown.ts`).
 *
 * L1: nothing outside the folder is looked at; links that leave it are counted as `outside`, neither good nor broken. L2: web links are not
 * followed. L3: an anchor that differs from a heading's only by case is taken for good, since browsers and sites differ on it.
 */
import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { languageOf } from './languages.ts'
import { readMarkdown, type MarkdownLink, type MarkdownPage } from './markdown.ts'
import { withoutSecrets } from './secret-rules.ts'
import { folderOf, listed, openFolder, type Coverage, type Folder, type Listed, type SurveyOptions } from './walk.ts'

/** A link that leads nowhere. */
export interface BrokenLink {
  file: string
  /** 1-based. */
  line: number
  kind: MarkdownLink['kind']
  /** As written, escapes resolved. */
  target: string
  reason: 'file-missing' | 'anchor-missing'
  /** What was probably meant, when the folder holds something close to it. */
  hint: string | null
}

/** What the survey of links found, in order of file and line. */
export interface LinksFindings {
  area: 'links'
  coverage: Coverage
  /** Markdown files read. */
  pages: number
  /** Relative links and anchors that were checked. */
  checked: number
  broken: Listed<BrokenLink>
  /** Links in the manner of a site (from its root, or without an ending in MDX) that are not in the folder: broken on GitHub, perhaps right there. */
  siteLinks: Listed<BrokenLink>
  /** Links not checked: to the web, out of the folder, or written by a template. */
  notChecked: { web: number; outside: number; template: number }
}

/** Checks every relative link of every Markdown file. */
export async function surveyLinks(root: string, options: SurveyOptions = {}): Promise<LinksFindings> {
  const folder = await openFolder(root, options)
  const pages = new Map<string, MarkdownPage>()
  for (const { path } of folder.files) {
    if (languageOf(path)?.name !== 'Markdown') continue
    const text = await folder.text(path)
    if (text !== null) pages.set(path, readMarkdown(text))
  }
  const notChecked = { web: 0, outside: 0, template: 0 }
  const broken: BrokenLink[] = []
  const siteLinks: BrokenLink[] = []
  let checked = 0
  const look = looker(folder.root)
  for (const [file, page] of pages) {
    folder.turnTo(file)
    for (const link of page.links) {
      options.signal?.throwIfAborted()
      const verdict = await check(folder, look, pages, file, link)
      if (verdict === 'web' || verdict === 'outside' || verdict === 'template') notChecked[verdict]++
      else checked++
      if (typeof verdict !== 'object') continue
      const finding = { file, line: link.line, kind: link.kind, target: withoutSecrets(link.target), ...verdict }
      if (isSiteLink(file, link.target, finding)) siteLinks.push(finding)
      else broken.push(finding)
    }
  }
  const { limits } = folder
  return {
    area: 'links',
    coverage: folder.coverage(),
    pages: pages.size,
    checked,
    broken: listed(broken, limits),
    siteLinks: listed(siteLinks, limits),
    notChecked,
  }
}

function isSiteLink(file: string, target: string, { reason }: BrokenLink): boolean {
  const path = target.replace(/[?#].*$/, '')
  return reason === 'file-missing' && (path.startsWith('/') || (file.endsWith('.mdx') && posix.extname(path) === ''))
}

type Verdict = 'good' | 'web' | 'outside' | 'template' | Pick<BrokenLink, 'reason' | 'hint'>

async function check(
  folder: Folder,
  look: Look,
  pages: ReadonlyMap<string, MarkdownPage>,
  file: string,
  link: MarkdownLink,
): Promise<Verdict> {
  const { target } = link
  if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('//')) return 'web'
  if (/\{\{|\}\}|\$\{|<%|\{%|%\}/.test(target)) return 'template'
  const hash = target.indexOf('#')
  const anchor = hash === -1 ? '' : target.slice(hash + 1)
  const written = hash === -1 ? target : target.slice(0, hash)
  if (written === '') return anchorVerdict(pages.get(file), anchor)
  const found = await existing(folder, look, file, written)
  if (found === 'outside') return 'outside'
  if (found === null) return { reason: 'file-missing', hint: hintFor(folder, resolved(file, decoded(written))) }
  return anchorVerdict(pages.get(found.path), anchor)
}

/** The path a written target resolves to, if it exists: as written or without its query, percent signs decoded or not. */
async function existing(folder: Folder, look: Look, file: string, written: string): Promise<{ path: string } | 'outside' | null> {
  const forms = new Set([written, decoded(written), written.replace(/\?.*$/, ''), decoded(written.replace(/\?.*$/, ''))])
  for (const form of forms) {
    if (form === '' || form.includes('\0')) continue
    const path = resolved(file, form)
    if (path === '..' || path.startsWith('../')) return 'outside'
    const isFolder = form.endsWith('/')
    const is = folder.has(path) && !isFolder ? 'there' : await look(path, isFolder)
    if (is === 'outside') return 'outside'
    if (is === 'there') return { path }
  }
  return null
}

/** Whether a path of the folder is there; a link that leads out of the folder is not followed. */
type Look = (path: string, asFolder: boolean) => Promise<'there' | 'outside' | 'missing'>

/** Reads each folder once, so that it is exact about upper and lower case on every file system, and many links cost no more than one. */
function looker(root: string): Look {
  const folders = new Map<string, Promise<ReadonlySet<string> | 'outside'>>()
  const namesIn = async (at: string): Promise<ReadonlySet<string> | 'outside'> => {
    const real = await realpath(join(root, at)).catch(() => null)
    if (real !== null && real !== root && !real.startsWith(join(root, '/'))) return 'outside'
    return new Set(real === null ? [] : await readdir(real).catch(() => []))
  }
  return async (path, asFolder) => {
    if (path === '.') return 'there'
    const at = folderOf(path)
    const names = folders.get(at) ?? namesIn(at)
    folders.set(at, names)
    const known = await names
    if (known === 'outside') return 'outside'
    if (!known.has(path.slice(path.lastIndexOf('/') + 1))) return 'missing'
    if (!asFolder) return 'there'
    const status = await lstat(join(root, path)).catch(() => null)
    return status?.isDirectory() === true || status?.isSymbolicLink() === true ? 'there' : 'missing'
  }
}

function resolved(file: string, written: string): string {
  const joined = written.startsWith('/')
    ? posix.normalize(written.replace(/^\/+/, ''))
    : posix.normalize(posix.join(folderOf(file), written))
  return joined.length > 1 ? joined.replace(/\/+$/, '') : joined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Only pages that were read have known anchors; line anchors and anchors of other files are not judged. */
function anchorVerdict(page: MarkdownPage | undefined, anchor: string): Verdict {
  if (page === undefined || anchor === '' || anchor === 'top') return 'good'
  if (/^L\d+(C\d+)?(-L\d+(C\d+)?)?$/.test(anchor) || anchor.startsWith(':~:')) return 'good'
  const wanted = decoded(anchor).replace(/^user-content-/, '')
  if (page.anchors.has(wanted) || page.anchors.has(anchor)) return 'good'
  const close = [...page.anchors].find((offered) => offered.toLowerCase() === wanted.toLowerCase())
  if (close !== undefined) return 'good'
  const near = [...page.anchors].find((offered) => simple(offered) === simple(wanted))
  return { reason: 'anchor-missing', hint: near === undefined ? null : `#${near}` }
}

const simple = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')

/** A file whose path differs only by case or lacks only its `.md`. */
function hintFor(folder: Folder, path: string): string | null {
  const wanted = [path, `${path}.md`, `${path}.mdx`].map((form) => form.toLowerCase())
  return folder.files.find((file) => wanted.includes(file.path.toLowerCase()))?.path ?? null
}
