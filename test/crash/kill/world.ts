/**
 * The outside world, in the parent process: whatever the tortured processes do, they do here, and it is written down
 * here.
 *
 * It is also a tool that checks fencing tokens: of everything that is held as one (a run, or an activation) it keeps
 * the largest epoch seen, and refuses a smaller one. What it counts as done was done: a call counts when it is read
 * here, whether or not its caller lives to see the answer.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { Dice } from './random.ts'

/** What a child sends: that it is ready, or that it does something. */
export type Said = { readonly up: true; readonly pid: number } | Call
export interface Call {
  readonly n: number
  readonly pid: number
  readonly key: string
  readonly epoch: number
  readonly attempt: number
  readonly kind: 'model' | 'tool' | 'once'
  readonly what: string
}
/** A call that was let through. `at`: when, in milliseconds since 1970. */
export interface Done extends Call {
  readonly nonce: number
  readonly at: number
}

/** A store whose runs reach this world. */
export interface Store {
  /** Says whether the end of a step is in the journal; undefined for a step of another store's run. */
  recorded(key: string): boolean | undefined
  onUp(pid: number): void
}

export class World {
  /** Everything that was done, by nonce. */
  readonly done: Done[] = []
  readonly violations: string[] = []
  refused = 0
  /** Of processes that never stood still: nobody should have taken their runs. */
  refusedAlive = 0
  /** Processes that stood still at some time. */
  readonly frozen = new Set<number>()
  /** Begun again after its end was recorded, though refused: a process that stood still just before its effect. */
  refusedRecorded = 0
  /** How often each `once` was done, by key. */
  readonly once = new Map<string, Done[]>()
  readonly #epochs = new Map<string, number>()
  readonly #holders = new Map<string, number>()
  readonly #sockets = new Set<Socket>()
  readonly #dice: Dice
  readonly #server: Server
  readonly #stores = new Set<Store>()
  readonly #heldOf: (key: string) => string

  /** `heldOf`: what a process holds that does the effect of this key. */
  constructor(seed: number, heldOf = runOfKey) {
    this.#heldOf = heldOf
    this.#dice = new Dice(seed)
    this.#server = createServer((socket) => this.#serve(socket))
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve) => this.#server.listen(path, resolve))
  }

  /** Takes a store in; returns how to let it go. */
  join(store: Store): () => void {
    this.#stores.add(store)
    return () => this.#stores.delete(store)
  }

  #recorded(key: string): boolean {
    for (const store of this.#stores) {
      const recorded = store.recorded(key)
      if (recorded !== undefined) return recorded
    }
    return false
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  /**
   * From now on nothing of what is held so with a smaller epoch is let through: so that "it has not happened" stays
   * true.
   */
  fence(held: string, epoch: number): void {
    this.#epochs.set(held, Math.max(epoch, this.#epochs.get(held) ?? 0))
  }

  /** What a `once` step did, if it did. */
  happened(key: string): Done | undefined {
    return this.once.get(key)?.[0]
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    let rest = ''
    socket.setEncoding('utf8')
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) this.#hear(socket, JSON.parse(line) as Said)
    })
  }

  #hear(socket: Socket, said: Said): void {
    if ('up' in said) {
      for (const store of this.#stores) store.onUp(said.pid)
      return
    }
    const answer = this.#do(said)
    // Half of the answers take a while, so that processes die between the deed and its record; some take so long that a
    // run changes hands meanwhile.
    const luck = this.#dice.next()
    const delay = luck < 0.5 ? 0 : luck < 0.92 ? this.#dice.between(1, 25) : this.#dice.between(150, 500)
    const reply = (): void => void (socket.writable && socket.write(`${JSON.stringify({ n: said.n, ...answer })}\n`))
    if (delay === 0) reply()
    else setTimeout(reply, delay)
  }

  #do(call: Call): { value: string } | { refused: string } {
    const held = this.#heldOf(call.key)
    if (call.epoch < 0) return this.#think(call)
    const newest = this.#epochs.get(held) ?? 0
    if (call.epoch < newest) {
      this.refused++
      if (!this.frozen.has(call.pid)) this.refusedAlive++
      if (this.#recorded(call.key)) this.refusedRecorded++
      return { refused: `epoch ${call.epoch} is over, ${newest} was seen` }
    }
    this.#epochs.set(held, call.epoch)
    const holder = this.#holders.get(`${held} ${call.epoch}`)
    if (holder !== undefined && holder !== call.pid)
      this.violations.push(`two processes held ${held} in epoch ${call.epoch}`)
    this.#holders.set(`${held} ${call.epoch}`, call.pid)
    if (this.#recorded(call.key)) this.violations.push(`begun again though its end is recorded: ${call.key}`)
    return { value: valueOf(this.#note(call)) }
  }

  /** A model gets no epoch: one that stood still just before its call may call again. Nobody else. */
  #think(call: Call): { value: string } {
    if (this.#recorded(call.key)) {
      if (this.frozen.has(call.pid)) this.refusedRecorded++
      else this.violations.push(`asked again though its answer is recorded: ${call.key}`)
    }
    return { value: valueOf(this.#note(call)) }
  }

  #note(call: Call): Done {
    const done: Done = { ...call, nonce: this.done.length, at: Date.now() }
    this.done.push(done)
    if (call.kind === 'once') {
      const before = this.once.get(call.key)
      if (before === undefined) this.once.set(call.key, [done])
      else {
        before.push(done)
        this.violations.push(
          `done twice though once: ${call.key} (epochs ${before.map((one) => one.epoch).join(', ')})`,
        )
      }
    }
    return done
  }
}

/** What a call answers: the same but for the nonce that tells which call it was. */
export const valueOf = (done: Done): string => `${done.what}~${done.nonce}`
/** Without the nonces. */
export const plain = (json: string): string => json.replaceAll(/~\d+/g, '')
/** `act_<run>[>…]:address` → the run. */
export const runOfKey = (key: string): string => /^act_([^>:]+)/.exec(key)?.[1] ?? ''
/** `activation:address`, taken apart at the colon after the activation. */
export function partsOfKey(key: string): { activation: string; address: string } {
  const cut = key.lastIndexOf(':')
  return { activation: key.slice(0, cut), address: key.slice(cut + 1) }
}
