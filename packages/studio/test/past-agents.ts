/** Agents that have worked for weeks: what they are asked is of many kinds, and some of it fails for a few causes. */
import { agent, step, type Agent } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'

/** What customers ask, and what is answered. */
const talk: readonly (readonly [asked: string, answered: string])[] = [
  [
    'Where is my order A-1042? It was due on Monday.',
    'Order A-1042 left Rotterdam on Tuesday and arrives on Thursday.',
  ],
  ['Der Karton war offen und eine Tasse fehlt.', 'Es tut uns leid. Eine neue Tasse ist unterwegs.'],
  ['Can I change the address of my delivery?', 'Yes: it now goes to Main Street 5, Utrecht.'],
  ['Which size fits a child of six?', 'Size 116 fits most children of six.'],
  ['I was charged twice for A-977.', 'The second charge of 24.90 is on its way back to your card.'],
]

/** The input of the n-th run of an agent. */
export const pastInput = (name: string, n: number): string =>
  name === 'concierge' ? talk[n % talk.length]![0] : `Invoice ${4_700 + n} of order A-${1_000 + n}`

const concierge = (version: string): Agent =>
  agent({
    name: 'concierge',
    version,
    description: 'Answers customers.',
    model: ({ messages }) => {
      const asked = messages.find(({ role }) => role === 'user')?.content
      const i = Math.max(
        0,
        talk.findIndex(([text]) => text === asked),
      )
      const input = 900 + 210 * i
      return { text: talk[i]![1], usage: { input, output: 60 + 12 * i, usd: input * 0.000_004 } }
    },
  })

const invoicer = agent({
  name: 'invoicer',
  description: 'Books invoices into the ledger.',
  run: (ctx: never, text: unknown) =>
    step(ctx, 'book', () => {
      const number = Number(/\d+/.exec(String(text))?.[0])
      if (number % 5 === 0)
        throw new FailureError(
          failure('tool.failed', `the ledger refuses invoice ${number}: its period is closed`, 'policy'),
        )
      if (number % 7 === 0) throw new Error(`the ledger at 10.0.0.${number % 9} does not answer`)
      return `booked invoice ${number}`
    }),
} as never)

/** Of some days ago, and of today. */
export const pastAgents = (version = '2.1'): readonly Agent[] => [concierge(version), invoicer]
