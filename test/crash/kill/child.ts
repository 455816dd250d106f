/**
 * A process that is tortured: opens the store, drives whatever is there, reaches the outside world by a socket, and never ends by itself.
 *
 * Arguments: the store, the socket, options as JSON.
 */
import { connect } from 'node:net'
import { createEmbeddedEngine, type EmbeddedOptions } from '../../../src/engine/embedded/index.ts'
import type { Reach } from './scenario.ts'
import { everything } from './team.ts'

const [file, path, options] = process.argv.slice(2) as [string, string, string]
const socket = connect(path)
const waiting = new Map<number, { resolve: (value: string) => void; reject: (error: Error) => void }>()
let calls = 0
let rest = ''

socket.setEncoding('utf8')
// The parent is gone: so is the torture.
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
    socket.write(`${JSON.stringify({ n, pid: process.pid, key: io.key, epoch: io.epoch, kind, what })}\n`)
  })
}

const engine = createEmbeddedEngine({ file, onWarning: () => undefined, ...(JSON.parse(options) as Partial<EmbeddedOptions>) })
engine.drive(everything(reach))
socket.write(`${JSON.stringify({ up: true, pid: process.pid })}\n`)
