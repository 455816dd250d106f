/**
 * Private files: what only its owner may read: stores, tokens, keys.
 *
 * Owns: making them so whatever the umask is, finding those that are not. Does not own: what is in them.
 * Holds: nothing that is there is changed: a file that others may read is told (`reeve doctor`), never narrowed here.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const [ownerOnly, folderOfOwner, byOthers] = [0o600, 0o700, 0o077]

/** Makes a folder that only its owner enters, unless it is there. */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return
  mkdirSync(dirname(folder), { recursive: true })
  mkdirSync(folder, { mode: folderOfOwner })
  chmodSync(folder, folderOfOwner)
}

/** Writes a new file that only its owner reads. Throws if it is there. */
export function writePrivateFile(file: string, text: string): void {
  writeFileSync(file, text, { mode: ownerOnly, flag: 'wx' })
  chmodSync(file, ownerOnly)
}

/** The mode of a file or folder that others than its owner may use, as `ls` counts it (`644`); undefined for any other. */
export function openToOthers(path: string): string | undefined {
  // Windows has no such modes
  if (process.platform === 'win32' || !existsSync(path)) return undefined
  const mode = statSync(path).mode & 0o777
  return (mode & byOthers) === 0 ? undefined : mode.toString(8).padStart(3, '0')
}

/**
 * A page in a private file that leads to an address: a browser is started with the file, so that a secret in the address
 * stands in no list of processes. `remove` is idempotent.
 */
export function redirectFile(address: string): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-open-'))
  chmodSync(folder, folderOfOwner)
  const file = join(folder, 'open.html')
  const quoted = address.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  writePrivateFile(
    file,
    `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Reeve</title><meta http-equiv="refresh" content="0; url=${quoted}">\n`,
  )
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
