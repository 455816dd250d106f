/**
 * Hosts on one machine: a network namespace for each worker, joined by a bridge, on which the store and the server that
 * moves runs have an address each. A host can be cut off from either of them.
 *
 * Owns: the namespaces and what passes between them; needs root and `ip` (iproute2). Does not own: processes
 * (workers.ts), when they are cut off (torture.ts). Who is cut off hears nothing: frames to that address go to a
 * neighbour that is not there, so that connections stay open and silent, as they do when a switch dies.
 */
import { execFileSync } from 'node:child_process'

/** What a host can be cut off from. */
export const peers = ['store', 'mover'] as const
export type Peer = (typeof peers)[number]

const nobody = '02:00:00:00:00:99'

export class Hosts {
  /** How many hosts there are. */
  readonly count: number
  readonly #name = `rv${process.pid % 100_000}`
  readonly #net = `10.${64 + (process.pid % 64)}.${Math.floor(process.pid / 64) % 256}`
  readonly #undo = (): void => this.close()
  #isOpen = true

  /** Throws where this may not be done. */
  constructor(count: number) {
    this.count = count
    process.once('exit', this.#undo)
    ip('link', 'add', this.#name, 'type', 'bridge')
    for (const peer of peers) ip('address', 'add', `${this.addressOf(peer)}/24`, 'dev', this.#name)
    ip('link', 'set', this.#name, 'up')
    for (let slot = 0; slot < count; slot++) {
      const [space, end] = [this.#space(slot), `${this.#name}e${slot}`]
      ip('netns', 'add', space)
      ip('link', 'add', end, 'type', 'veth', 'peer', 'name', 'net', 'netns', space)
      ip('link', 'set', end, 'master', this.#name, 'up')
      ip('-n', space, 'address', 'add', `${this.hostAddress(slot)}/24`, 'dev', 'net')
      for (const device of ['lo', 'net']) ip('-n', space, 'link', 'set', device, 'up')
    }
  }

  /** Under which address hosts reach it. */
  addressOf(peer: Peer): string {
    return `${this.#net}.${peer === 'store' ? 2 : 3}`
  }

  /** Under which address a host is reached. */
  hostAddress(slot: number): string {
    return `${this.#net}.${10 + slot}`
  }

  /** What a command is begun with, so that it runs on this host. */
  on(slot: number): readonly string[] {
    return ['ip', 'netns', 'exec', this.#space(slot)]
  }

  cutOff(slot: number, peer: Peer): void {
    ip(
      '-n',
      this.#space(slot),
      'neighbour',
      'replace',
      this.addressOf(peer),
      'lladdr',
      nobody,
      'dev',
      'net',
      'nud',
      'permanent',
    )
  }

  join(slot: number, peer: Peer): void {
    ip('-n', this.#space(slot), 'neighbour', 'delete', this.addressOf(peer), 'dev', 'net')
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    process.off('exit', this.#undo)
    for (const undo of [
      ...Array.from({ length: this.count }, (_, slot) => ['netns', 'delete', this.#space(slot)]),
      ['link', 'delete', this.#name],
    ]) {
      try {
        ip(...undo)
      } catch {
        // it was not made
      }
    }
  }

  #space(slot: number): string {
    return `${this.#name}h${slot}`
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
