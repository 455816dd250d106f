/**
 * A million messages between two members of a team whose process is killed again and again: every one is read once, in
 * order.
 *
 *   npm run bench:mailbox -- [--messages 1000000] [--kills 30] [--seed 1] [--keep]
 *
 * Prints figures, then a line for each promise, then `N passed, N failed`. Exit code 1 on a failure.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { decode } from '@reeve/journal'
import { Dice } from '../test/crash/kill/random.ts'
import type { Told } from './mailbox-child.ts'
import { digestOf, type Read } from './mailbox-team.ts'

const { values: args } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
  },
})
const messages = Number(args.messages)
const kills = Number(args.kills)
const dice = new Dice(Number(args.seed))
const folder = mkdtempSync(join(tmpdir(), 'reeve-mail-'))
const file = join(folder, 'mail.db')
process.env['NODE_COMPILE_CACHE'] ??= join(folder, 'cache')

/** What was seen of all processes. */
const figures = { kills: 0, early: 0, seen: 0, peakMb: 0, recoveries: [] as number[] }

/** When a process is to be killed: so long after its beginning, or so long after this message was read. */
type Moment = { readonly afterMs: number; readonly from: 'start' } | { readonly afterMs: number; readonly from: number }

/** One process, from its beginning to its end. True: the run has ended. */
function live(moment: Moment | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let last: Told | undefined
    let planned = false
    let [killed, ended] = [false, false]
    const child = fork(join(import.meta.dirname, 'mailbox-child.ts'), [file, String(messages)], {
      execArgv: ['--no-warnings'],
    })
    const kill = (afterMs: number): void => {
      planned = true
      setTimeout(() => {
        if (!ended) killed = child.kill('SIGKILL')
      }, afterMs)
    }
    if (moment?.from === 'start') kill(moment.afterMs)
    child.on('message', (told: Told) => {
      last = told
      figures.seen = Math.max(figures.seen, told.seen)
      figures.peakMb = Math.max(figures.peakMb, told.peakMb)
      ended ||= told.ended === true
      if (
        moment !== undefined &&
        moment.from !== 'start' &&
        !planned &&
        told.recoveredMs !== undefined &&
        told.seen >= moment.from
      )
        kill(moment.afterMs)
    })
    child.on('exit', (code) => {
      if (last?.recoveredMs !== undefined) figures.recoveries.push(last.recoveredMs)
      if (!killed && !ended) return reject(new Error(`a process fell over with ${code}`))
      if (killed) {
        figures.kills++
        if (last?.recoveredMs === undefined) figures.early++
      }
      resolve(ended)
    })
  })
}

/** What the store says, read with nothing but SQLite and the codec of entries: everything that is wrong. */
function audit(): { readonly problems: readonly string[]; readonly bytes: number; readonly mails: number } {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const problems: string[] = []
  const must = (holds: boolean, what: string): void => void (holds || problems.length > 20 || problems.push(what))
  const integrity = (db.prepare('PRAGMA integrity_check').get() as { integrity_check: string }).integrity_check
  must(integrity === 'ok', `integrity_check: ${integrity}`)
  const next = new Map<string, number>()
  const mail = { accepted: 0, numbered: 0, delivered: 0 }
  let numbers: Read | undefined
  const rows = db.prepare(
    'SELECT a.id, l.seq, l.body FROM log l JOIN activation a ON a.num = l.act ORDER BY l.position',
  )
  for (const row of rows.iterate()) {
    const { id, seq, body } = row as { id: string; seq: number; body: string }
    must(seq === (next.get(id) ?? 0), `${id}: entry ${seq} where ${next.get(id) ?? 0} was due`)
    next.set(id, seq + 1)
    if (id !== 'act_run_mail') continue
    const event = decode(body) as unknown as {
      type: string
      seq: number
      seqs: number[]
      from: string
      member: string
      task: string
      [name: string]: unknown
    }
    switch (event.type) {
      case 'mail.accepted':
        must(event.seq === ++mail.accepted, `mail ${event.seq} where ${mail.accepted} was due`)
        if (event.from === 'writer_1') mail.numbered++
        break
      case 'mail.delivered':
        if (event.member === 'reader_1') mail.delivered += event.seqs.length
        break
      case 'mail.refused':
        must(false, `mail was refused: ${String(event['reason'])}`)
        break
      case 'mail.unread':
        must(event.member !== 'reader_1', `the reader has not read ${event.seqs.length}`)
        break
      case 'mail.truncated':
        must(event.member === undefined, `mail was given up in the inbox of ${event.member}`)
        break
      case 'activation.settled':
        must(
          (event['outcome'] as { status: string }).status === 'completed',
          `the run ended as ${JSON.stringify(event['outcome']).slice(0, 500)}`,
        )
        numbers = (event['outcome'] as { results?: { tasks: { task: string; output: Read }[] } }).results?.tasks.find(
          ({ task }) => task === 'reader',
        )?.output
    }
  }
  db.close()
  must(
    mail.numbered === messages && mail.delivered === messages,
    `${mail.numbered} were taken, ${mail.delivered} given out`,
  )
  let digest = 0
  for (let i = 1; i <= messages; i++) digest = digestOf(digest, i)
  must(
    numbers?.read === messages && numbers.digest === digest,
    `the reader has read ${JSON.stringify(numbers)}, expected the digest ${digest}`,
  )
  return { problems, bytes: statSync(file).size, mails: mail.accepted }
}

// Most are killed after a message that was drawn, some while they go through what there was before.
const moments = Array.from({ length: kills }, (): number => dice.between(1, Math.floor(messages * 0.98))).sort(
  (a, b) => a - b,
)
const begun = performance.now()
let ended = false
for (const from of moments) {
  if (ended) break
  if (dice.next() < 0.2) ended = await live({ from: 'start', afterMs: dice.between(20, 1_500) })
  else ended = await live({ from, afterMs: dice.between(0, 50) })
}
while (!ended) ended = await live(undefined)
const seconds = (performance.now() - begun) / 1_000
const { problems, bytes, mails } = audit()
const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
console.log(
  `seed ${args.seed} · ${whole(messages)} messages, ${whole(mails)} with those that acknowledge them · ${figures.kills} kill -9, ${figures.early} of them before everything was gone through again · ${seconds.toFixed(1)} s · ${whole(messages / seconds)} messages/s · ${whole(bytes / messages)} bytes a message · peak RSS ${whole(figures.peakMb)} MB · longest recovery ${(Math.max(0, ...figures.recoveries.slice(1)) / 1_000).toFixed(2)} s`,
)
const isRight = problems.length === 0
console.log(
  `${isRight ? 'ok  ' : 'FAIL'} every message was taken once and read once, in order, none given up unread; numbers and logs without a gap`,
)
for (const problem of problems) console.log(`  ${problem}`)
if (isRight && !args.keep) rmSync(folder, { recursive: true, force: true })
else console.log(`kept: ${folder}`)
console.log(isRight ? '1 passed, 0 failed' : '0 passed, 1 failed')
process.exit(isRight ? 0 : 1)
