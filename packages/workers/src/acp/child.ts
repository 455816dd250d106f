/**
 * Child: a coding agent as a child process that speaks JSON-RPC 2.0 in lines over its standard input and output.
 *
 * Owns: the process and its group, lines, requests and their answers. Does not own: what is said (session.ts).
 * Holds: what comes in is bounded: a line, messages a second, the tail of its errors. The process never outlives this one in order: its
 * group is killed when it is closed, and when this process exits. Its environment is what it is given, and nothing
 * else.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { cut, isObject, type Json, type JsonObject } from '@reeve/core'
import { Allowance, tooMuch } from '../external-agent/index.ts'

/** How a process is started. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** A request of the agent that waits for an answer. */
export interface ChildRequest {
  readonly method: string
  readonly params: JsonObject
  readonly answer: (result: Json) => void
}

/** Who hears what the agent says. */
export interface ChildHearer {
  readonly request: (request: ChildRequest) => void
  readonly notice: (method: string, params: JsonObject) => void
}

/** The longest line, in characters. */
const longestLine = 8 * 1024 * 1024
/** How many messages may come at once, and how many a second in the long run. */
const burst = 50_000
const perSecond = 2_000
/** How much of the end of what it writes to its standard error is kept, in characters. */
const tail = 4_000
/** How long a group has to end before it is killed, in milliseconds. */
const graceMs = 2_000

/** Groups that are alive: killed when this process exits. */
const alive = new Set<Child>()
const killAll = (): void => {
  for (const child of alive) child.kill('SIGKILL')
}

export class Child {
  readonly #process: ChildProcess
  readonly #hearer: ChildHearer
  readonly #open = new Map<number, { resolve: (value: Json) => void; reject: (error: Error) => void }>()
  #next = 1
  /** The line that has begun, in pieces, and its length. */
  #line: string[] = []
  #length = 0
  readonly #allowed = new Allowance(burst, perSecond)
  #errors = ''
  #end: Error | undefined
  /** Resolves when it has ended, to why. */
  readonly ended: Promise<Error>

  constructor({ command, args, cwd, env }: Command, hearer: ChildHearer) {
    this.#hearer = hearer
    // a group of its own, so that its children end with it
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    this.#process = child
    if (alive.size === 0) process.on('exit', killAll)
    alive.add(this)
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-tail)
    })
    child.stdin.on('error', () => {}) // that it reads no more is known by its end
    this.ended = new Promise((resolve) => {
      const over = (why: Error): void => {
        this.#over(why)
        resolve(why)
      }
      child.on('error', (error) => over(new Error(`"${command}" cannot be started: ${error.message}`)))
      child.on('close', (code, signal) => over(new Error(this.#howItEnded(command, code, signal))))
    })
  }

  get isOver(): boolean {
    return this.#end !== undefined
  }

  /** Why it has ended; undefined: it has not. */
  get end(): Error | undefined {
    return this.#end
  }

  #howItEnded(command: string, code: number | null, signal: string | null): string {
    const errors = this.#errors.trim()
    const how = signal === null ? `with code ${code ?? 'unknown'}` : `by ${signal}`
    return `"${command}" has ended ${how}${errors === '' ? '' : `: ${errors}`}`
  }

  #over(why: Error): void {
    this.#end ??= why
    alive.delete(this)
    if (alive.size === 0) process.off('exit', killAll)
    for (const { reject } of this.#open.values()) reject(this.#end)
    this.#open.clear()
  }

  /** Each piece is looked at once: a line that comes in many is put together at its end. */
  #hear(text: string): void {
    for (let from = 0; !this.isOver;) {
      const end = text.indexOf('\n', from)
      const piece = end < 0 ? text.slice(from) : text.slice(from, end)
      this.#line.push(piece)
      this.#length += piece.length
      if (this.#length > longestLine) return this.fail(tooMuch(`a line of more than ${longestLine} characters`))
      if (end < 0) return
      const line = this.#line.join('')
      this.#line = []
      this.#length = 0
      from = end + 1
      if (line.trim() !== '') this.#take(line)
    }
  }

  #take(line: string): void {
    if (!this.#allowed.take(1))
      return this.fail(tooMuch(`more than ${burst} messages at once, and more than ${perSecond} a second`))
    let message: Json
    try {
      message = JSON.parse(line) as Json
    } catch {
      return this.#break('a line is not JSON')
    }
    if (!isObject(message)) return this.#break('a message is not an object')
    const { id, method, params, result, error } = message
    const given = isObject(params) ? params : {}
    if (typeof method === 'string' && id === undefined) return this.#hearer.notice(method, given)
    if (typeof method === 'string')
      return this.#hearer.request({
        method,
        params: given,
        answer: (value) =>
          this.#write(isRefusal(value) ? { id: id!, error: value.refused } : { id: id!, result: value }),
      })
    const open = typeof id === 'number' ? this.#open.get(id) : undefined
    if (open === undefined) return // an answer to nothing that was asked
    this.#open.delete(id as number)
    if (error === undefined) open.resolve(result ?? null)
    else open.reject(new Error(errorText(error)))
  }

  /** What it said cannot be understood: it is not spoken with any further. */
  #break(why: string): void {
    this.fail(new Error(`the coding agent does not speak the protocol: ${why}`))
  }

  /** Ends it for this reason. */
  fail(why: Error): void {
    this.#over(why)
    this.kill('SIGKILL')
  }

  #write(message: JsonObject): void {
    if (!this.isOver) this.#process.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  request(method: string, params: JsonObject): Promise<Json> {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    const id = this.#next++
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
      this.#write({ id, method, params })
    })
  }

  notify(method: string, params: JsonObject): void {
    this.#write({ method, params })
  }

  /** Sends a signal to its whole group. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#process
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // the group has ended
    }
  }

  /** Ends it and its children: asked to first, then by force. Resolves when it has ended. */
  async close(): Promise<void> {
    this.kill('SIGTERM')
    const force = setTimeout(() => this.kill('SIGKILL'), graceMs)
    await this.ended
    clearTimeout(force)
    // what is left of its group
    this.kill('SIGKILL')
  }
}

/** What an error says, with the details that it carries. */
function errorText(error: Json): string {
  const { message, data } = isObject(error) ? error : {}
  const details = isObject(data) ? (data['details'] ?? data['message']) : data
  const told = [message, details].flatMap((each) => (typeof each === 'string' && each !== '' ? [each] : []))
  return told.length === 0 ? 'the coding agent has failed' : cut(told.join(': '), tail)
}

/** The answer to a request that is not understood. */
export const notFound = (method: string): JsonObject => ({
  refused: { code: -32_601, message: `unknown method ${method}` },
})
const isRefusal = (value: Json): value is { readonly refused: Json } => isObject(value) && 'refused' in value
