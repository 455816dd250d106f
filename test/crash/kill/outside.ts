/**
 * The way from a tortured process to the outside world: a socket, one line for each call. Owns: nothing that outlives
 * the process.
 */
import { connect } from 'node:net'
import type { Reach } from './scenario.ts'

/** The outside world as a process sees it. When the parent is gone, so is the torture: the process ends. */
export interface Outside {
  readonly reach: Reach
  /** Says that this process is ready. */
  readonly up: () => void
}

/** Blocks this thread, event loop and all, as a synchronous tool does. */
const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/**
 * `blockMs`: one in twenty of its tools blocks the event loop for so long, after its deed and before its answer is
 * read.
 */
export function outsideAt(path: string, blockMs = 0): Outside {
  const socket = connect(path)
  const waiting = new Map<number, { resolve: (value: string) => void; reject: (error: Error) => void }>()
  let calls = 0
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('close', () => process.exit(0))
  socket.on('error', () => process.exit(0))
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      const answer = JSON.parse(line) as { n: number; value?: string; refused?: string }
      const caller = waiting.get(answer.n)
      waiting.delete(answer.n)
      if (answer.value !== undefined) caller?.resolve(answer.value)
      else caller?.reject(new Error(answer.refused))
    }
  })
  const reach: Reach = async (io, kind, what) => {
    if (Math.random() < 0.3) await new Promise((resolve) => setTimeout(resolve, Math.random() * 15))
    return new Promise((resolve, reject) => {
      const n = calls++
      waiting.set(n, { resolve, reject })
      const { key, epoch, attempt } = io
      socket.write(`${JSON.stringify({ n, pid: process.pid, key, epoch, attempt, kind, what })}\n`)
      if (blockMs > 0 && kind !== 'model' && Math.random() < 0.05) block(blockMs)
    })
  }
  return { reach, up: () => void socket.write(`${JSON.stringify({ up: true, pid: process.pid })}\n`) }
}
