/** The mailbox of a team, without a team: numbers, bounds, inboxes, copies. Spec team 1.7. */
import { describe, expect, test } from 'vitest'
import { Mailbox, type Posted } from '../src/mail/mailbox.ts'
import type { MailboxOptions } from '../src/mail/options.ts'
import { addresseesOf, addressOf } from '../src/mail/recipients.ts'
import { Directory } from '../src/state/directory.ts'

const box = (options: MailboxOptions = {}, ...members: readonly string[]): Mailbox => {
  const mailbox = new Mailbox(options)
  for (const member of members) mailbox.join(member, 'worker')
  return mailbox
}
const post = (mailbox: Mailbox, to: readonly string[] = ['a'], content = 'x', from = 'b', waitsAs?: string): Posted =>
  mailbox.post(
    { from, to: to.join(), content, at: 0 },
    { recipients: to, ...(waitsAs === undefined ? undefined : { waitsAs }) },
  )
const many = (mailbox: Mailbox, count: number, ...to: readonly string[]): Posted[] =>
  Array.from({ length: count }, () => post(mailbox, to.length === 0 ? ['a'] : to))
const seqs = (list: readonly { readonly seq: number }[]): number[] => list.map(({ seq }) => seq)
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i)
const truncationsOf = (posts: readonly Posted[]) => posts.flatMap((each) => (each.accepted ? each.truncations : []))

describe('the bound of the whole mailbox', () => {
  test('team C26: of 11 the newest 5 stay: 6 dropped, one truncation; 5 more make 10, without another', () => {
    const mailbox = box({ maxMessages: 10 }, 'a')
    const posted = many(mailbox, 11)
    expect(truncationsOf(posted)).toEqual([{ from: 7, dropped: 6, total: 6 }])
    expect(seqs(mailbox.messages)).toEqual(from(7, 11))
    expect(mailbox.dropped).toBe(6)
    expect(truncationsOf(many(mailbox, 5))).toEqual([])
    expect(seqs(mailbox.messages)).toEqual(from(7, 16))
    expect(seqs(mailbox.read('a'))).toEqual(from(7, 16))
    expect(truncationsOf(many(mailbox, 1))).toEqual([{ from: 13, dropped: 6, total: 12 }])
  })

  test.each([
    [1, [3], 2],
    [2, [3], 2],
    [3, [1, 2, 3], 0],
  ])('team C26: a bound of %d keeps at least the new one', (maxMessages, kept, dropped) => {
    const mailbox = box({ maxMessages }, 'a')
    many(mailbox, 3)
    expect(seqs(mailbox.messages)).toEqual(kept)
    expect(mailbox.dropped).toBe(dropped)
  })

  test('team C26: an odd bound is halved downwards', () => {
    const mailbox = box({ maxMessages: 7 }, 'a')
    many(mailbox, 8)
    expect(seqs(mailbox.messages)).toEqual([6, 7, 8])
  })

  test('team C26: drop-oldest gives up one, drop-newest refuses the new one and uses no number for it', () => {
    const oldest = box({ maxMessages: 3, overflow: 'drop-oldest' }, 'a')
    expect(truncationsOf(many(oldest, 5))).toEqual([
      { from: 2, dropped: 1, total: 1 },
      { from: 3, dropped: 1, total: 2 },
    ])
    expect(seqs(oldest.read('a'))).toEqual([3, 4, 5])
    const newest = box({ maxMessages: 3, overflow: 'drop-newest' }, 'a')
    expect(many(newest, 5).slice(3)).toEqual([
      { accepted: false, reason: 'full' },
      { accepted: false, reason: 'full' },
    ])
    expect(seqs(newest.read('a'))).toEqual([1, 2, 3])
    expect(newest.dropped).toBe(0)
  })

  test('what was read counts as kept: a mailbox is full of what was sent, not of what is unread', () => {
    const mailbox = box({ maxMessages: 4 }, 'a')
    many(mailbox, 4)
    expect(seqs(mailbox.read('a'))).toEqual([1, 2, 3, 4])
    many(mailbox, 1)
    expect(seqs(mailbox.messages)).toEqual([4, 5])
    expect(seqs(mailbox.read('a'))).toEqual([5])
  })

  test('nothing is lost below the bound, in any burst', () => {
    const mailbox = box({ maxMessages: 5_000, maxPerRecipient: 5_000 }, 'a')
    expect(truncationsOf(many(mailbox, 5_000))).toEqual([])
    expect(seqs(mailbox.read('a'))).toEqual(from(1, 5_000))
  })
})

describe('the bound of one inbox', () => {
  test('only that inbox gives up its oldest; the mailbox and the others keep theirs', () => {
    const mailbox = box({ maxPerRecipient: 4 }, 'a', 'c')
    many(mailbox, 2, 'c')
    const posted = many(mailbox, 5, 'a', 'c')
    expect(truncationsOf(posted)).toEqual([
      { member: 'c', from: 4, dropped: 3, total: 3 },
      { member: 'a', from: 6, dropped: 3, total: 5 },
    ])
    expect(seqs(mailbox.read('a'))).toEqual([6, 7])
    expect(seqs(mailbox.read('c'))).toEqual([4, 5, 6, 7])
    expect(seqs(mailbox.messages)).toEqual(from(1, 7))
  })

  test('only what is unread counts', () => {
    const mailbox = box({ maxPerRecipient: 2 }, 'a')
    for (let i = 1; i <= 10; i++) {
      expect(truncationsOf(many(mailbox, 2))).toEqual([])
      expect(seqs(mailbox.read('a'))).toEqual([2 * i - 1, 2 * i])
    }
  })

  test('drop-newest: full inboxes do without; where all are full it is refused', () => {
    const mailbox = box({ maxPerRecipient: 1, overflow: 'drop-newest' }, 'a', 'c')
    post(mailbox, ['a'])
    expect(post(mailbox, ['a', 'c'])).toEqual({
      accepted: true,
      seq: 2,
      recipients: ['c'],
      truncations: [{ member: 'a', from: 1, dropped: 1, total: 1 }],
    })
    expect(post(mailbox, ['a', 'c'])).toEqual({ accepted: false, reason: 'full' })
    expect(seqs(mailbox.read('a'))).toEqual([1])
    expect(seqs(mailbox.read('c'))).toEqual([2])
  })
})

describe('inboxes', () => {
  test('mail of one sender is taken out of the middle, the rest stays in its order', () => {
    const mailbox = box({}, 'a')
    for (const sender of ['b', 'c', 'b', 'd', 'b', 'c']) post(mailbox, ['a'], 'x', sender)
    expect(seqs(mailbox.read('a', 'b'))).toEqual([1, 3, 5])
    expect(seqs(mailbox.read('a', 'b'))).toEqual([])
    expect(mailbox.size('a')).toBe(3)
    expect(mailbox.holds('a', 'c')).toBe(true)
    expect(mailbox.holds('a', 'b')).toBe(false)
    expect(seqs(mailbox.read('a'))).toEqual([2, 4, 6])
    expect(mailbox.holds('a', 'c')).toBe(false)
  })

  test('mail waits for those who are not there yet: by id and by role, in order, for the first who comes', () => {
    const mailbox = box({}, 'a')
    post(mailbox, [], 'x', 'a', 'role:critic')
    post(mailbox, [], 'x', 'a', 'critic_1')
    post(mailbox, [], 'x', 'a', 'role:critic')
    post(mailbox, [])
    expect(mailbox.join('critic_1', ' Critic ')).toEqual({ seqs: [1, 2, 3], truncations: [] })
    expect(mailbox.join('critic_1', 'critic')).toEqual({ seqs: [], truncations: [] })
    expect(mailbox.join('critic_2', 'critic').seqs).toEqual([])
    expect(seqs(mailbox.read('critic_1'))).toEqual([1, 2, 3])
  })

  test('waiting mail is returned with the mailbox, and bounded by its receiver’s inbox', () => {
    const mailbox = box({ maxMessages: 6, maxPerRecipient: 2 }, 'a')
    for (let i = 0; i < 7; i++) post(mailbox, [], 'x', 'a', 'role:critic')
    expect(seqs(mailbox.messages)).toEqual([5, 6, 7])
    expect(mailbox.join('critic_1', 'critic')).toEqual({
      seqs: [5, 6, 7],
      truncations: [{ member: 'critic_1', from: 7, dropped: 2, total: 6 }],
    })
    expect(seqs(mailbox.read('critic_1'))).toEqual([7])
  })

  test('a retired member gets nothing more', () => {
    const mailbox = box({}, 'a')
    many(mailbox, 2)
    expect(mailbox.leave('a')).toEqual([1, 2])
    expect(mailbox.leave('a')).toEqual([])
    post(mailbox, [], 'x', 'b', 'a')
    expect(mailbox.join('a', 'worker')).toEqual({ seqs: [], truncations: [] })
    expect(mailbox.members).toEqual([])
  })

  test('team C31: who changes what they were shown changes nothing', () => {
    const mailbox = box({}, 'a')
    mailbox.post({ from: 'b', to: 'a', content: { deep: ['x'] }, at: 0 }, { recipients: ['a'] })
    const shown = mailbox.messages as unknown as { content: { deep: string[] } }[]
    shown[0]!.content.deep.push('y')
    shown.push(shown[0]!)
    expect(mailbox.messages).toEqual([{ seq: 1, from: 'b', to: 'a', content: { deep: ['x'] }, at: 0 }])
    expect(mailbox.read('a')).toEqual([{ seq: 1, from: 'b', to: 'a', content: { deep: ['x'] }, at: 0 }])
  })
})

describe('two hundred thousand messages cost two hundred thousand times one', () => {
  const all = 200_000
  const filled = (options: MailboxOptions, work: (mailbox: Mailbox, i: number) => void): Mailbox => {
    const mailbox = box(options, 'a', 'c')
    for (let i = 0; i < all; i++) work(mailbox, i)
    return mailbox
  }
  // Quadratic work would take minutes here: the time limit of the test is the assertion that this is not.
  test('dropping by halves, into one unread inbox', () => {
    const mailbox = filled({}, (each) => post(each))
    expect(mailbox.size('a')).toBeGreaterThanOrEqual(100)
    expect(mailbox.dropped).toBeGreaterThan(all - 1_001)
  }, 20_000)
  test('dropping one by one above a bound of half of them', () => {
    const mailbox = filled({ maxMessages: all / 2, maxPerRecipient: all / 4, overflow: 'drop-oldest' }, (each) =>
      post(each),
    )
    expect(mailbox.size('a')).toBe(all / 4)
    expect(mailbox.messages[0]?.seq).toBe(all / 2 + 1)
  }, 20_000)
  test('read of one sender, while a quarter of all are unread of another', () => {
    const mailbox = filled({ maxMessages: 2 * all, maxPerRecipient: all }, (each, i) => {
      if (i < all / 4) return void post(each)
      post(each, ['a'], 'x', 'c')
      expect(each.read('a', 'c').length).toBe(1)
    })
    expect(mailbox.size('a')).toBe(all / 4)
  }, 20_000)
  test('for as many who never come', () => {
    const mailbox = filled({ overflow: 'drop-oldest' }, (each, i) => post(each, [], 'x', 'b', `nobody_${i}`))
    expect(mailbox.messages.length).toBe(1_000)
    expect(mailbox.join(`nobody_${all - 1_001}`, 'x').seqs).toEqual([])
    expect(mailbox.join(`nobody_${all - 1_000}`, 'x').seqs).toEqual([all - 999])
  }, 20_000)
})

describe('who is meant', () => {
  const directory = new Directory()
  for (const [member, role] of [
    ['analyst_1', 'Analyst'],
    ['analyst_2', ' analyst'],
    ['writer_1', 'writer'],
    ['critic_1', 'critic'],
  ] as const)
    directory.join({ member, role, task: member, recruited: false })
  directory.move('critic_1', 'running')
  directory.move('critic_1', 'completed')
  const meant = (to: string, sender?: string) => addresseesOf(addressOf(to)!, sender, directory)

  test('team C28: a role is all its members, in any case; everyone is all but the sender and the ended', () => {
    expect(meant(' role: ANALYST ')).toEqual({ recipients: ['analyst_1', 'analyst_2'], waitsAs: 'role:analyst' })
    expect(meant('role:analyst', 'analyst_1').recipients).toEqual(['analyst_1', 'analyst_2'])
    expect(meant(' * ', 'analyst_2')).toEqual({ recipients: ['analyst_1', 'writer_1'] })
    expect(meant('*').recipients).toEqual(['analyst_1', 'analyst_2', 'writer_1'])
    expect(meant('writer_1', 'writer_1')).toEqual({ recipients: ['writer_1'] })
    expect(meant('critic_1')).toEqual({ recipients: [] })
    expect(meant('role:critic')).toEqual({ recipients: [], waitsAs: 'role:critic' })
    expect(meant('nobody')).toEqual({ recipients: [], waitsAs: 'nobody' })
  })

  test('an empty address is invalid', () => {
    for (const to of ['', '  ', 'role:', 'Role:  ']) expect(addressOf(to)).toBeUndefined()
    expect(addressOf('rolé:x')).toEqual({ type: 'member', member: 'rolé:x' })
  })
})
