/**
 * Bounded reading of a file from an untrusted folder.
 * Owns: that nothing but a regular file is read (no FIFO, no device, no link in its last part), never more than the
 * bound, never waiting for a writer.
 */
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** The bytes of a regular file; `too-large` beyond `most`; `null` when there is no such file, or it cannot be read. */
export async function bytesOf(path: string, most: number): Promise<Buffer | 'too-large' | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const status = await file.stat()
    if (!status.isFile()) return null
    if (status.size > most) return 'too-large'
    const bytes = Buffer.alloc(status.size)
    let at = 0
    while (at < bytes.length) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, at)
      if (bytesRead === 0) break
      at += bytesRead
    }
    return bytes.subarray(0, at)
  } catch {
    return null
  } finally {
    await file.close()
  }
}

/**
 * The same for a path below `root`: a link on the way may lead elsewhere in `root`, and not out of it. `root` is a real
 * path.
 */
export async function bytesBelow(root: string, path: string, most: number): Promise<Buffer | 'too-large' | null> {
  const real = await realpath(join(root, path)).catch(() => null)
  return real === null || !real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`) ? null : bytesOf(real, most)
}
