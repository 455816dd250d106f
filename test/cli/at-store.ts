/** The command line at a store in a folder of its own, as a terminal that runs nothing has it. */
import { afterEach, beforeEach } from 'vitest'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../../src/cli/program.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-at-store-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The store of this test. */
export const storeHere = (): string => join(folder, 'x.db')

/** Calls a command. */
export async function reeve(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main(['--store', storeHere(), ...args], {
    terminal,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1.2.3',
  })
  return { code, out: terminal.written, err: terminal.notes }
}
