/**
 * What each way of working together costs in context: the same task, d pieces of work under one leader, played in every
 * way, with everything counted that models were sent. `npm run bench:ways`. Rules play the models, so the figures
 * are the same every time; tokens are Reeve's estimate.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  agent,
  asTool,
  createRuntime,
  router,
  sequential,
  supervisor,
  tool,
  type Agent,
  type EdgeOptions,
  type ModelAnswerInput,
  type ModelFunction,
} from '@reeve/public'
import type { TransferEdge } from '@reeve/public/team'
import { estimateTokens } from '@reeve/model'
import { inFolder } from './measure.ts'

const pieces = [1, 2, 5, 10]
/** A text of about so many characters. */
const text = (about: string, length: number): string =>
  `${about}: ${'words that matter '.repeat(length / 18)}`.slice(0, length)
const request = text('The task', 200)
const brief = text('The next piece', 120)
const found = text('Found', 400)
const answer = text('The piece', 300)
const description = text('Does one kind of piece', 60)
const instructions = text('How to work', 200)
const workers = ['left', 'right'] as const

interface Cost {
  readonly calls: number
  readonly messages: number
  readonly tokens: number
}

/** One way, played once: who has been sent how much. */
class Play {
  readonly pieces: number
  readonly costs = new Map<string, Cost>()
  #begun = 0

  constructor(count: number) {
    this.pieces = count
  }

  /** Whose turn the next piece is; undefined if all are begun. */
  next(): (typeof workers)[number] | undefined {
    return this.#begun >= this.pieces ? undefined : workers[this.#begun++ % workers.length]
  }

  counted(name: string, rule: () => ModelAnswerInput | string): ModelFunction {
    return ({ messages, tools }) => {
      const { calls, messages: before, tokens } = this.costs.get(name) ?? { calls: 0, messages: 0, tokens: 0 }
      this.costs.set(name, {
        calls: calls + 1,
        messages: before + messages.length,
        tokens: tokens + estimateTokens(messages, tools),
      })
      return rule()
    }
  }

  /** Two calls of a tool, then the answer. `last`: what becomes of control then. */
  worker<const Name extends string>(name: Name, last: () => ModelAnswerInput = () => ({})): Agent<Name> {
    let turn = 0
    const look = tool({ name: 'look', description: 'Looks something up.', effect: 'read', execute: () => found })
    const model = this.counted(name, () =>
      ++turn % 3 === 0 ? { text: answer, ...last() } : { calls: [{ name: 'look', input: { what: 'the next thing' } }] },
    )
    return agent({ name, description, instructions, tools: [look], model })
  }

  team(last?: () => ModelAnswerInput): readonly [Agent<'left'>, Agent<'right'>] {
    return [this.worker('left', last), this.worker('right', last)]
  }

  /** Gives out one piece in a turn, then says that all is done. */
  leader(
    give: (worker: string) => { readonly name: string; readonly input: { readonly [name: string]: string } },
  ): ModelFunction {
    return this.counted('leader', () => {
      const worker = this.next()
      return worker === undefined ? answer : { calls: [give(worker)] }
    })
  }
}

const limits = { turns: 1_000, transfers: 1_000 }
const facts = { name: 'leader', instructions, limits } as const

const delegation =
  (context: 'brief' | 'conversation') =>
  (play: Play): Agent =>
    supervisor({
      ...facts,
      workers: play.team(),
      delegation: { context },
      model: play.leader((worker) => ({ name: 'delegate', input: { worker, instructions: brief } })),
    })

const transfer =
  (edge: EdgeOptions<(typeof workers)[number], TransferEdge>) =>
  (play: Play): Agent =>
    router({
      ...facts,
      workers: play.team(),
      transfer: edge,
      model: play.leader((agent_name) => ({ name: 'transfer_to_agent', input: { agent_name, task: brief } })),
    })

/** The worker that is done hands the next piece to the other one; the last one answers. */
function handoff(play: Play): Agent {
  const give = (to: string): ModelAnswerInput => ({
    calls: [{ name: 'transfer_to_agent', input: { agent_name: to, task: brief } }],
  })
  const last = (): ModelAnswerInput => {
    const to = play.next()
    return to === undefined ? {} : give(to)
  }
  return router({
    ...facts,
    workers: play.team(last),
    transfer: { returns: 'never' },
    routes: { left: ['right'], right: ['left'] },
    model: play.counted('leader', () => give(play.next()!)),
  })
}

/** Nobody decides; who would lead comes last and sums up. */
function fixed(play: Play): Agent {
  const team = play.team()
  const leader = agent({ ...facts, model: play.counted('leader', () => answer) })
  return sequential({
    name: 'line',
    agents: [...Array.from({ length: play.pieces }, (_, i) => team[i % team.length]!), leader],
    limits,
  })
}

function tools(play: Play): Agent {
  const model = play.leader((name) => ({ name, input: { request: brief } }))
  return agent({ ...facts, tools: play.team().map((each) => asTool(each)), model })
}

const ways: { readonly [name: string]: (play: Play) => Agent } = {
  'delegation (brief, the default)': delegation('brief'),
  "delegation, context 'conversation'": delegation('conversation'),
  asTool: tools,
  'transfer (hidden, the default)': transfer({}),
  "transfer, transfers 'shown'": transfer({ transfers: 'shown' }),
  "transfer, context 'answers'": transfer({ context: 'answers' }),
  "transfer, shares 'answer'": transfer({ shares: 'answer' }),
  "transfer, shares 'answer', workers' context 'brief'": transfer({
    shares: 'answer',
    agents: { left: { context: 'brief' }, right: { context: 'brief' } },
  }),
  handoff,
  sequential: fixed,
}

interface Figures {
  readonly calls: number
  readonly messages: number
  readonly tokens: number
  readonly leader: number
  readonly bytes: number
}

/** Bytes of a store that has been closed. */
function sizeOf(store: string): number {
  const db = new DatabaseSync(store)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return statSync(store).size
}

async function played(way: (play: Play) => Agent, count: number, store: string): Promise<Figures> {
  const play = new Play(count)
  const root = way(play)
  let empty: number
  {
    await using runtime = await createRuntime({ store, agents: [root] })
    empty = sizeOf(store)
    const outcome = await runtime.run(root, request)
    if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  }
  const all = [...play.costs.values()]
  const sum = (what: keyof Cost): number => all.reduce((total, each) => total + each[what], 0)
  return {
    calls: sum('calls'),
    messages: sum('messages'),
    tokens: sum('tokens'),
    leader: play.costs.get('leader')?.tokens ?? 0,
    bytes: sizeOf(store) - empty,
  }
}

const number = (value: number): string => Math.round(value).toLocaleString('en-US')
const exponent = (series: readonly Figures[], what: keyof Figures): string =>
  Math.log2(series[3]![what] / series[2]![what])
    .toFixed(2)
    .replace('-0.00', '0.00')

await inFolder(async (folder) => {
  const columns = [
    'way',
    ...pieces.map((d) => `tokens, d = ${d}`),
    'growth',
    'leader, d = 10',
    'growth',
    'calls',
    'messages',
    'stored kB',
    'growth',
  ]
  const rows: string[][] = []
  for (const [name, way] of Object.entries(ways)) {
    const series: Figures[] = []
    for (const count of pieces) series.push(await played(way, count, join(folder, `${rows.length}-${count}.db`)))
    const last = series.at(-1)!
    rows.push([
      name,
      ...series.map(({ tokens }) => number(tokens)),
      exponent(series, 'tokens'),
      number(last.leader),
      exponent(series, 'leader'),
      number(last.calls),
      number(last.messages),
      number(last.bytes / 1_000),
      exponent(series, 'bytes'),
    ])
  }
  for (const cells of [columns, columns.map((_, i) => (i === 0 ? '---' : '---:')), ...rows])
    console.log(`| ${cells.join(' | ')} |`)
  console.log(
    '\ntokens: estimated, everything that all models were sent, with the schemas of their tools. growth: x in d^x, from d = 5 to d = 10.',
  )
  console.log(
    'leader: what the leader alone was sent. calls, messages, stored: d = 10; stored is the database without what it is when empty.',
  )
})
