/** What all mail came to: who goes on from it does what the one before would have done. Spec team 1.7. */
import { describe, expect, test } from 'vitest'
import { Exchanges } from '../src/progress/mail-loops.ts'
import { Mailbox, type MailboxState } from '../src/mail/mailbox.ts'
import type { MailboxOptions } from '../src/mail/options.ts'
import { Dice } from '../../../test/crash/kill/random.ts'

const again = (mailbox: Mailbox, options: MailboxOptions): Mailbox => {
  const next = new Mailbox(options)
  next.state = JSON.parse(JSON.stringify(mailbox.state)) as MailboxState
  return next
}

/** One thing that happens to a mailbox; what it says of it. */
function act(mailbox: Mailbox, pick: number, member: string, other: string, content: number): unknown {
  if (pick < 60)
    return mailbox.post(
      { from: other, to: member, content, at: content },
      { recipients: mailbox.knows(member) ? [member] : [], waitsAs: member },
    )
  if (pick < 75) return mailbox.read(member)
  if (pick < 85) return mailbox.read(member, other)
  if (pick < 95) return mailbox.join(member, 'worker')
  if (pick < 98) return mailbox.leave(member)
  return mailbox.back(member)
}

describe('a summary of mail', () => {
  test.each(['keep-newest-half', 'drop-oldest', 'drop-newest'] as const)(
    'K1: %s: a mailbox goes on from the state of another one as that one does',
    (overflow) => {
      for (let seed = 1; seed <= 40; seed++) {
        const dice = new Dice(seed)
        const options = { maxMessages: 12, maxPerRecipient: 5, overflow }
        const first = new Mailbox(options)
        let bounds = 0
        const second = { mailbox: new Mailbox(options) }
        for (let n = 0; n < 300; n++) {
          if (dice.next() < 0.1) second.mailbox = again(second.mailbox, options)
          const drawn = [dice.between(0, 99), `m${dice.between(1, 3)}`, `m${dice.between(1, 3)}`, n] as const
          const done = act(first, ...drawn)
          expect(act(second.mailbox, ...drawn)).toEqual(done)
          if (JSON.stringify(done)?.includes('"accepted":false') === true) bounds++
          expect([second.mailbox.dropped, second.mailbox.members]).toEqual([first.dropped, first.members])
        }
        expect(first.dropped + bounds).toBeGreaterThan(0)
      }
    },
  )

  test('K1: of mail that was read only its number is kept', () => {
    const mailbox = new Mailbox()
    mailbox.join('a', 'worker')
    for (let n = 0; n < 100; n++)
      mailbox.post({ from: 'b', to: 'a', content: 'x'.repeat(1_000), at: 0 }, { recipients: ['a'] })
    mailbox.read('a')
    expect(JSON.stringify(mailbox.state).length).toBeLessThan(1_000)
  })

  test('K1: replies that go round are counted on', () => {
    const first = new Exchanges(4)
    const step = (of: Exchanges, n: number): unknown => {
      const [from, to] = n % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const)
      of.read(from)
      return of.wrote(from, to, n)
    }
    for (let n = 0; n < 4; n++) step(first, n)
    const second = new Exchanges(4)
    second.state = JSON.parse(JSON.stringify(first.state)) as Exchanges['state']
    for (let n = 4; n < 8; n++) expect(step(second, n)).toEqual(step(first, n))
    expect(second.state.found).toBe(true)
  })
})
