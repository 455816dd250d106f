/** Ports and folders for servers of tests. Owns: giving no port twice, and removing folders when this process ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const given = new Set<number>()

/**
 * A port that nobody listens on, and that is given to nobody else here. Below the range from which the system takes the
 * ports of outgoing connections.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = 10_000 + Math.floor(Math.random() * 22_000)
    if (!given.has(port) && (await isFree(host, port))) {
      given.add(port)
      return port
    }
  }
  throw new Error(`there is no free port on ${host}`)
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

const folders = new Set<string>()
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A folder that is removed when this process ends, if it is still there. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `reeve-${name}-`))
  folders.add(folder)
  return folder
}

/** Removes a folder. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.delete(folder)
}
