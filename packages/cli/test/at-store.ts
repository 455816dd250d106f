/** The command line at a store in a folder of its own, as a terminal that runs nothing has it. */
import { afterEach, beforeEach } from 'vitest'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/program.ts'
import { fakeTerminal, type FakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-at-store-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The store of this test. */
export const storeHere = (): string => join(folder, 'x.db')

interface Called {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Calls a command. */
export const reeve = (...args: string[]): Promise<Called> => reeveOn(fakeTerminal(), ...args)

/** Calls a command on this terminal. */
export async function reeveOn(terminal: FakeTerminal, ...args: string[]): Promise<Called> {
  const code = await main(['--store', storeHere(), ...args], {
    terminal,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1.2.3',
  })
  return { code, out: terminal.written, err: terminal.notes }
}
