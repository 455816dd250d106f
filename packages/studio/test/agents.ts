/** The agents behind the studio's tests and pictures: they think by rules and ask people for everything there is. */
import { agent, step, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { ModelAnswerInput, ModelFunction } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'

/** Calls one tool with these arguments, and ends with what it said. */
const callsOnce =
  (name: string, input: Json): ModelFunction =>
  ({ messages }): ModelAnswerInput | string => {
    const last = messages.at(-1)!
    if (last.role !== 'tool') return { calls: [{ name, input }], usage: { input: 2_140, output: 96 } }
    return typeof last.content === 'string' ? last.content : JSON.stringify(last.content)
  }

/** An agent with one tool, which it calls once. */
const caller = (name: string, description: string, of: { readonly name: string }, input: Json): Agent =>
  agent({ name, description, tools: [of] as never, model: callsOnce(of.name, input) })

const policy = (days: number): string =>
  [
    '# Refunds',
    '',
    `Customers may return an article within ${days} days.`,
    ...Array.from({ length: 12 }, (_, i) => `${i + 1}. A clause that stays as it is.`),
    'The customer pays the parcel back.',
    '',
  ].join('\n')

/** What a hostile model would write: markup, a terminal's commands, a turned line, a letter that looks like another. */
export const hostile = {
  to: 'p\u0430ypal@example.com',
  subject: '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
  body: '\u001b[31mred\u001b[0m \u202etxt.exe zero\u200bwidth javascript:alert(1)',
} as const

const refundSchema = {
  type: 'object',
  properties: {
    order: { type: 'string', description: 'The number of the order.', pattern: '^A-[0-9]+$' },
    amount: { type: 'number', description: 'In euros.', minimum: 0, maximum: 500 },
    reason: { type: 'string' },
  },
  required: ['order', 'amount'],
} as const

const issueRefund = tool({
  name: 'issue_refund',
  description: 'Refunds an order to the card of the customer.',
  input: refundSchema,
  approval: { risk: 'high' },
  execute: ({ order, amount }: { order: string; amount: number }) => `refunded ${amount} for ${order}`,
} as never)

const billing = caller('billing', 'Refunds and charges.', issueRefund, {
  order: 'A-1042',
  amount: 240,
  reason: 'The parcel arrived damaged; the customer sent photographs.',
})

/** Leads billing: asks for a refund of high risk. */
const support = supervisor({
  name: 'support',
  workers: [billing],
  model: ({ messages }) => {
    const last = messages.at(-1)!
    return last.role === 'tool'
      ? `Done: ${typeof last.content === 'string' ? last.content : JSON.stringify(last.content)}`
      : {
          calls: [
            {
              name: 'delegate',
              input: { worker: 'billing', instructions: 'Refund order A-1042, it arrived damaged.' },
            },
          ],
          usage: { input: 3_800, output: 140 },
        }
  },
})

const writeFile = tool({
  name: 'write_file',
  description: 'Writes a file of the handbook.',
  input: {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path', 'text'],
  },
  approval: {
    risk: 'medium',
    preview: ({ text }: { text: string }): Json => ({ before: policy(14), after: text }),
  },
  execute: ({ path }: { path: string }) => `wrote ${path}`,
} as never)

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail to a customer.',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, subject: { type: 'string' }, body: { type: 'string' } },
    required: ['to', 'body'],
  },
  approval: { risk: 'critical', timeoutMs: 3_600_000 },
  execute: () => 'sent',
} as never)

const wireMoney = tool({
  name: 'wire_money',
  description: 'Wires money to a supplier.',
  input: {
    type: 'object',
    properties: { account: { type: 'string' }, amount: { type: 'number' } },
    required: ['account', 'amount'],
  },
  approval: { risk: 'critical' },
  execute: () => 'wired',
} as never)

const tagOrder = tool({
  name: 'tag_order',
  description: 'Puts a tag on an order.',
  input: { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] },
  approval: { risk: 'low' },
  execute: ({ tag }: { tag: string }) => `tagged ${tag}`,
} as never)

const pay = tool({
  name: 'pay',
  description: 'Pays a customer back.',
  input: {
    type: 'object',
    properties: {
      order: { type: 'string' },
      amount: { type: 'number' },
      currency: { type: 'string' },
      note: { type: 'string' },
    },
    required: ['order', 'amount', 'currency'],
  },
  approval: { risk: 'high' },
  execute: ({ order, amount }: { order: string; amount: number }) => `paid ${amount} for ${order}`,
} as never)

/** Calls one tool with the arguments that it was given as its input. */
const callsAsAsked =
  (name: string): ModelFunction =>
  ({ messages }): ModelAnswerInput | string => {
    const [last, first] = [messages.at(-1)!, messages.find(({ role }) => role === 'user')!]
    if (last.role === 'tool') return typeof last.content === 'string' ? last.content : JSON.stringify(last.content)
    return { calls: [{ name, input: JSON.parse(first.content as string) as Json }], usage: { input: 940, output: 41 } }
  }

/** Charges a card once, and never answers: a process that ends meanwhile leaves it in doubt. */
const chargeCard = tool({
  name: 'charge_card',
  description: 'Charges the card of a customer.',
  effect: 'once',
  input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  execute: () => new Promise<string>(() => {}),
} as never)

export const agents: readonly Agent[] = [
  support,
  caller('editor', 'Keeps the handbook.', writeFile, { path: 'policies/refunds.md', text: policy(30) }),
  caller('mailer', 'Writes to customers.', sendMail, hostile),
  agent({
    name: 'payer',
    description: 'Pays suppliers.',
    tools: [wireMoney] as never,
    model: callsOnce('wire_money', { account: 'DE89 3704 0044 0532 0130 00', amount: 12_500 }),
    oversight: { approval: { fourEyes: 'critical' } },
  } as never),
  caller('tagger', 'Sorts orders.', tagOrder, { tag: 'damaged' }),
  agent({ name: 'cashier', description: 'Pays customers back.', tools: [pay] as never, model: callsAsAsked('pay') }),
  caller('charger', 'Charges cards.', chargeCard, { amount: 12 }),
  agent({
    name: 'planner',
    description: 'Plans deliveries.',
    run: async (ctx) => {
      const answer = await interrupt(ctx, 'Which warehouse ships the replacement?', {
        schema: {
          type: 'object',
          properties: {
            warehouse: { enum: ['Berlin', 'Rotterdam'], description: 'Where it is in stock.' },
            express: { type: 'boolean' },
          },
          required: ['warehouse'],
        },
      } as never)
      return `planned ${JSON.stringify(answer)}`
    },
  }),
  agent({
    name: 'greeter',
    description: 'Says hello.',
    model: () => ({ text: 'hello', usage: { input: 12, output: 3 } }),
  }),
  agent({
    name: 'breaker',
    description: 'Fails.',
    run: (ctx) =>
      step(ctx, 'look', () => {
        throw new Error('the warehouse does not answer')
      }),
  }),
]
