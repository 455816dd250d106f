/**
 * Agents that work as slowly as a test wants: their models stream and wait at doors, which the test opens. A door is of
 * one process: after a kill all are shut again.
 */
import { agent, step, teammate, tool, type Agent, type Tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Model, ModelAnswer } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { hostile } from './agents.ts'

const waiting = new Map<string, (() => void)[]>()
const comings = new Map<string, (() => void)[]>()

/** Waits until the door is opened, or until the work is given up. */
function atDoor(name: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const pass = (): void => resolve()
    waiting.set(name, [...(waiting.get(name) ?? []), pass])
    signal.addEventListener('abort', () => {
      waiting.set(
        name,
        (waiting.get(name) ?? []).filter((each) => each !== pass),
      )
      reject(signal.reason as Error)
    })
    for (const came of comings.get(name)?.splice(0) ?? []) came()
  })
}

/** Lets one through: the one that has waited longest, or the next that comes. */
export async function openDoor(name: string): Promise<void> {
  while ((waiting.get(name) ?? []).length === 0)
    await new Promise<void>((resolve) => comings.set(name, [...(comings.get(name) ?? []), resolve]))
  waiting.get(name)!.shift()!()
}

/** Text of a model in the pieces in which it comes; `{ door }` waits. */
type Said = readonly (string | { readonly door: string })[]

/** What a model does at its turn: text, and the tools that it calls. */
interface Turn {
  readonly said?: Said
  readonly thought?: string
  readonly calls?: readonly { readonly name: string; readonly input: Json }[]
}

const price = { usdPerMillionTokens: { input: 2, output: 10 } } as const

/** A model that streams, with a price and usage. `turn`: 0 at first, then one more for each result that it was told. */
function streaming(id: string, turns: readonly Turn[]): Model {
  return {
    id,
    price,
    async call({ messages, signal, emit }): Promise<ModelAnswer> {
      const results = messages.filter(({ role }) => role === 'tool').length
      const { said = [], thought, calls = [] } = turns[Math.min(results, turns.length - 1)]!
      if (thought !== undefined) emit?.({ type: 'reasoning.delta', id: 'r', text: thought })
      let text = ''
      for (const piece of said)
        if (typeof piece === 'string') {
          text += piece
          emit?.({ type: 'text.delta', id: 't', text: piece })
        } else await atDoor(piece.door, signal)
      return {
        text,
        calls: calls.map(({ name, input }, i) => ({ id: `${id}-${results}-${i}`, name, input: input as never })),
        finish: calls.length > 0 ? 'tool-calls' : 'stop',
        model: id,
        usage: { input: 4_200, output: 310, usd: 0.0115 },
      }
    },
  }
}

const lookUp = tool({
  name: 'look_up',
  description: 'Looks an order up.',
  effect: 'read',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  execute: ({ order }: { order: string }) => ({ order, state: 'delivered', carrier: 'DHL', weightKg: 2.4 }),
} as never)

const writer = agent({
  name: 'writer',
  description: 'Writes to customers.',
  instructions: 'You write short, kind mails. Look the order up first.',
  tools: [lookUp] as never,
  model: streaming('acme/quill-2', [
    { thought: 'The order first, then the mail.', calls: [{ name: 'look_up', input: { order: 'A-1042' } }] },
    {
      said: [
        { door: 'writer' },
        'Dear Mia,\n\nyour parcel A-1042 was delivered ',
        { door: 'writer' },
        'on Monday. We are sorry that it was damaged',
        { door: 'writer' },
        '; a new one is on its way.\n\nKind regards\nSupport\n',
      ],
    },
  ]),
})

/** Leads a writer who streams, within a budget. */
const desk = supervisor({
  name: 'desk',
  workers: [writer],
  limits: { tokens: 60_000, usd: 0.5 },
  model: streaming('acme/lead-1', [
    {
      said: ['I ask the writer.'],
      calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'Write to Mia about her order A-1042.' } }],
    },
    { said: ['The mail is written.'] },
  ]),
})

/** Two steps with a door each, and no model. */
const stepper = agent({
  name: 'stepper',
  description: 'Works in steps.',
  run: async (ctx) => {
    await step(ctx, 'first', ({ signal }) => atDoor('stepper', signal).then(() => 'first done'))
    await step(ctx, 'second', ({ signal }) => atDoor('stepper', signal).then(() => 'second done'))
    return 'both steps are done'
  },
})

const scout = agent({
  name: 'scout',
  description: 'Finds sources.',
  model: streaming('acme/quill-2', [
    { said: ['Three suppliers ship within a week: Alba, Boreal ', { door: 'scout' }, 'and Cirrus.'] },
  ]),
})
const interviewer = agent({
  name: 'interviewer',
  description: 'Asks customers.',
  run: async (ctx): Promise<Json> => {
    const me = teammate(ctx)
    await me.send({ to: '*', kind: 'info', content: 'I have begun with the interviews.' })
    const heard: Json[] = []
    for (;;) {
      const mail = await me.nextMail({ from: 'operator', withinMs: 600_000 })
      for (const { content } of mail) heard.push(content)
      if (mail.length === 0 || heard.includes('enough')) return { heard }
    }
  },
})
const drafter = agent({
  name: 'drafter',
  description: 'Writes reports.',
  run: (ctx) =>
    step(ctx, 'draft', ({ signal }) =>
      atDoor('drafter', signal).then(() => `a report on: ${teammate(ctx).description}`),
    ),
})

/** A plan of three tasks, of which the last one waits for the others. */
const research = team({
  name: 'research',
  roles: { scout, interviewer, drafter },
  recruit: { policy: () => 'allow' },
  limits: { tokens: 80_000, usd: 1 },
  routing: { communicating: true },
  planner: {
    subtasks: [
      { id: 'find-suppliers', description: 'Find suppliers that ship within a week.', role: 'scout' },
      { id: 'ask-customers', description: 'Ask five customers what they miss.', role: 'interviewer' },
      {
        id: 'write-report',
        description: 'Write the report on suppliers and customers.',
        role: 'drafter',
        dependencies: ['find-suppliers', 'ask-customers'],
      },
    ],
  },
})

/** All of it in one text. */
export const hostileText = `${hostile.to} ${hostile.subject} ${hostile.body}`

const report = tool({
  name: 'report',
  description: 'Files a report.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  approval: { risk: 'low' },
  execute: ({ text }: { text: string }) => `filed ${text}`,
} as never)

const forger = agent({
  name: 'forger',
  description: 'Writes what a hostile model would.',
  tools: [report] as never,
  model: streaming('acme/quill-2', [
    { thought: hostileText, said: [hostileText], calls: [{ name: 'report', input: { text: hostileText } }] },
    { said: [hostileText, { door: 'forger' }, hostileText] },
  ]),
})
const courier = agent({
  name: 'courier',
  description: 'Sends hostile mail.',
  run: async (ctx) => {
    const me = teammate(ctx)
    await me.send({ to: '*', kind: 'info', content: hostileText })
    await step(ctx, 'rest', ({ signal }) => atDoor('courier', signal).then(() => 'rested'))
    return hostileText
  },
})

/** A plan as a hostile planner writes it. */
const strangers = team({
  name: 'strangers',
  roles: { forger, courier },
  routing: { communicating: true },
  planner: {
    subtasks: [
      { id: 'forge', description: hostileText, role: 'forger' },
      { id: 'carry', description: hostileText, role: 'courier' },
    ],
  },
})

const lasting = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
const slow = (id: string, ms: readonly number[], turns: readonly Turn[]): Model => {
  const model = streaming(id, turns)
  return {
    ...model,
    async call(request) {
      const results = request.messages.filter(({ role }) => role === 'tool').length
      await lasting(ms[Math.min(results, ms.length - 1)]!, request.signal)
      return model.call(request)
    },
  }
}
const slowTool = (name: string, ms: number, approval?: object): Tool =>
  tool({
    name,
    description: `Does ${name}.`,
    input: { type: 'object', properties: { about: { type: 'string' } }, required: ['about'] },
    ...(approval === undefined ? {} : { approval }),
    execute: (_input: unknown, { signal }: { readonly signal: AbortSignal }) =>
      lasting(ms, signal).then(() => `${name}: three pages`),
  } as never)
const call = (name: string): { readonly name: string; readonly input: Json } => ({
  name,
  input: { about: 'delivery times' },
})
const reporters = (
  [
    ['reporter', [500, 900, 1_400], [slowTool('search', 700), slowTool('read_pages', 900)]],
    ['fact-checker', [700, 600, 900], [slowTool('look_up', 400), slowTool('publish_note', 300, { risk: 'medium' })]],
    ['illustrator', [400, 1_100, 800], [slowTool('find_images', 1_200), slowTool('crop', 500)]],
  ] as const
).map(([name, ms, tools]) =>
  agent({
    name,
    description: `The ${name} of the newsroom.`,
    tools: [...tools] as never,
    model: slow('acme/quill-2', ms, [
      { calls: [call(tools[0].name)] },
      { calls: [call(tools[1].name)] },
      { said: ['That is all.'] },
    ]),
  }),
)
const newsroom = supervisor({
  name: 'newsroom',
  workers: reporters,
  limits: { tokens: 200_000, usd: 2 },
  model: slow(
    'acme/lead-1',
    [900, 800],
    [
      {
        calls: reporters.map(({ name }) => ({
          name: 'delegate',
          input: { worker: name, instructions: 'Delivery times.' },
        })),
      },
      { said: ['The story is ready.'] },
    ],
  ),
})

const counter = agent({
  name: 'counter',
  description: 'Counts.',
  model: () => ({ text: 'counted', usage: { input: 9, output: 1 } }),
})

/** A thousand workers, each with a limit that is handed down, and then one step that waits. */
const crowd = supervisor({
  name: 'crowd',
  workers: [counter],
  limits: { turns: 10_000, tokens: 1_000_000 },
  model: ({ messages }) => {
    const asked = messages.filter(({ role }) => role === 'assistant').length
    return asked < 20
      ? {
          calls: Array.from({ length: 50 }, (_, i) => ({
            name: 'delegate',
            input: { worker: 'counter', instructions: `Count heap ${asked * 50 + i}.` },
          })),
          usage: { input: 10, output: 10 },
        }
      : 'all is counted'
  },
})

export const crews: readonly Agent[] = [desk, stepper, research, strangers, newsroom, crowd]
