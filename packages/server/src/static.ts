/**
 * Static files: the prebuilt studio.
 *
 * Owns: which file a path means, its type, how long it may be kept. Does not own: building the files (studio/).
 * Holds: only files that stood in the folder when the server was made are served, by their exact names: no path leads
 * out of it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { ReeveError } from '@reeve/core'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** Answers a request for a file or a page; undefined: it is for neither. */
type StaticFiles = (request: Request) => Promise<Response | undefined>

/** Where the studio has files, and no page: what is not there is not answered by a page, which a cache could keep as one. */
const isFilePath = (pathname: string): boolean =>
  pathname.startsWith('/assets/') || (/^\/[^/]+$/.test(pathname) && Object.hasOwn(types, extname(pathname)))

/** The files of a folder with an `index.html`. Throws `config.invalid` if there is none. */
export function staticFiles(folder: string): StaticFiles {
  if (!existsSync(join(folder, 'index.html')))
    throw new ReeveError('config.invalid', `the studio is not built: ${join(folder, 'index.html')} is missing`, {
      hint: 'In a checkout, run: npm run build. Nothing was opened.',
    })
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && Object.hasOwn(types, extname(each.name)))
      .map((each) => {
        const file = join(each.parentPath, each.name)
        return [file.slice(folder.length).replaceAll(sep, '/').replace(/^\/*/, '/'), file] as const
      }),
  )
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const { pathname } = new URL(request.url)
    const wantsPage = (request.headers.get('Accept') ?? '').includes('text/html') && !isFilePath(pathname)
    const path = files.has(pathname) ? pathname : wantsPage || pathname === '/' ? '/index.html' : undefined
    const file = path === undefined ? undefined : files.get(path)
    if (path === undefined || file === undefined) return undefined
    const headers = {
      'Content-Type': types[extname(file)]!,
      // the name of an asset holds a hash of its content
      'Cache-Control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
    }
    return new Response(request.method === 'HEAD' ? null : new Uint8Array(await readFile(file)), { headers })
  }
}
