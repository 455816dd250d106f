/**
 * The post office: takes letters out of outboxes, into inboxes, over a network that loses them, and looks again later.
 *
 * Owns: sending until acknowledged, taking each letter once, order between two correspondents, refusals.
 * Does not own: what a row means to an activation (site.ts).
 */
import { runOf, type ActivationId } from '../../core/index.ts'
import { encode } from '../../journal/index.ts'
import type { LossyNetwork } from './network.ts'
import type { AdversarialStore, Box, Letter, LetterBody } from './store.ts'

export class PostOffice {
  readonly #store: AdversarialStore
  readonly #network: LossyNetwork
  readonly #now: () => number
  /** Something has come in for this activation. */
  readonly #notify: (id: ActivationId) => void

  constructor(store: AdversarialStore, network: LossyNetwork, now: () => number, notify: (id: ActivationId) => void) {
    this.#store = store
    this.#network = network
    this.#now = now
    this.#notify = notify
  }

  send(letter: Letter): void {
    this.#network.send(() => {
      const answer = this.#take(letter)
      if (answer === 'not yet') return
      this.#network.send(() => this.#acknowledged(letter, answer))
    })
  }

  /** Tells an activation that there is something for it; the word may be lost, too. */
  announce(id: ActivationId): void {
    this.#network.send(() => this.#notify(id))
  }

  #acknowledged(letter: Letter, answer: 'taken' | 'unknown' | 'closed'): void {
    if (letter.acked) return
    letter.acked = true
    const sender = this.#store.boxes.get(letter.from)
    if (answer === 'taken' || sender === undefined || letter.body.type !== 'message') return
    if (this.#store.put(sender, `refused:${letter.key}`, { type: 'refused', id: letter.body.id, reason: answer })) this.#notify(letter.from)
  }

  #take({ to, body, from }: Letter): 'taken' | 'not yet' | 'unknown' | 'closed' {
    const box = this.#store.boxes.get(to)
    if (body.type === 'birth') {
      if (box === undefined) this.#bear(to, body)
      return 'taken'
    }
    if (box === undefined) {
      if (body.type !== 'message' || this.#store.expected(to)) return 'not yet'
      return 'unknown'
    }
    if (body.type === 'message') return this.#takeMessage(box, from, body)
    if (!box.settled) this.#put(box, body.type === 'end' ? `end:${body.address}` : '!cancel', body)
    return 'taken'
  }

  #put(box: Box, key: string, body: unknown): void {
    if (this.#store.put(box, key, body)) this.announce(box.id)
  }

  #bear(
    id: ActivationId,
    { agent, version, input, limits, path, given, earlier, cancelled }: Extract<LetterBody, { type: 'birth' }>,
  ): void {
    if (this.#store.runs.get(runOf(id)) === undefined) return
    const box = this.#store.box(id, path, limits)
    this.#store.append(
      box,
      this.#now(),
      encode({
        type: 'activation.started',
        agent,
        version,
        input,
        ...(given ? { path } : {}),
        ...(earlier === undefined ? {} : { earlier }),
      }),
    )
    if (cancelled !== undefined) this.#store.put(box, '!cancel', { type: 'cancel', reason: cancelled })
    this.announce(id)
  }

  /** In the order in which they were sent: one that overtook another waits for it. */
  #takeMessage(box: Box, from: ActivationId, body: Extract<LetterBody, { type: 'message' }>): 'taken' | 'closed' {
    if (box.rows.has(body.id)) return 'taken'
    if (box.settled) return 'closed'
    box.early.set(`${from}#${body.nth}`, body)
    for (;;) {
      const next = box.heardFrom.get(from) ?? 0
      const letter = box.early.get(`${from}#${next}`)
      if (letter === undefined) return 'taken'
      box.early.delete(`${from}#${next}`)
      box.heardFrom.set(from, next + 1)
      this.#put(box, letter.id, { type: 'message', id: letter.id, from: letter.from, body: letter.body })
    }
  }

  /** Looks for what was lost. True if there was anything. */
  sweep(drives: (box: Box) => boolean, awake: (box: Box) => boolean): boolean {
    let found = false
    for (const box of this.#store.boxes.values()) {
      if (!drives(box)) continue
      for (const letter of box.out.values()) {
        if (letter.acked) continue
        found = true
        this.send(letter)
      }
      if (box.settled) continue
      const unread = [...box.rows.values()].some(({ taken }) => !taken)
      if (!unread && box.parked) continue
      found ||= unread || !awake(box)
      this.announce(box.id)
    }
    return found
  }
}
