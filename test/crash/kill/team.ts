/**
 * The same torture for a real team: a supervisor and three workers with tools, models that are rules, one tool behind
 * an approval. What users write.
 */
import { agent, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Registry, StepIO } from '@reeve/engine'
import type { Message, ModelAnswerInput, ModelFunction } from '@reeve/model'
import { registerAgents } from '../../../packages/runtime/src/registry.ts'
import { supervisor, type Supervisor } from '@reeve/supervisor'
import { scenario, type Reach, type Rule } from './scenario.ts'

const retry = { attempts: 3, backoffMs: 5 }
const topic = {
  type: 'object',
  properties: { topic: { type: 'string' } },
  required: ['topic'],
  additionalProperties: false,
} as const

/**
 * A model that first calls, then says what it was told. It reaches the world, too; a model gets no epoch, so the world
 * cannot refuse it.
 */
const thinks =
  (reach: Reach, name: string, first: ModelAnswerInput): ModelFunction =>
  async ({ messages, key }) => {
    const told = messages
      .filter((message: Message) => message.role === 'tool')
      .map((message) => JSON.stringify(message.content))
    const said = await reach({ key, epoch: -1 } as StepIO, 'model', `${name} ${told.length === 0 ? 'asks' : 'answers'}`)
    return told.length === 0 ? first : `${said as string}: ${told.join(', ')}`
  }

const calls = (...list: (readonly [name: string, input: Json])[]): ModelAnswerInput => ({
  calls: list.map(([name, input], k) => ({ name, input, id: `${name}${k}` })),
})

/** The team; whatever it does goes through `reach`. */
export function team(reach: Reach): Supervisor {
  const does = (name: string, effect: 'idempotent' | 'once', sensitive = false) =>
    tool({
      name,
      input: topic,
      effect,
      sensitive,
      retry,
      execute: (given, io) =>
        reach(io, effect === 'once' ? 'once' : 'tool', `${name}-${(given as { topic: string }).topic}`),
    })
  const worker = (name: string, tools: ReturnType<typeof does>[], first: ModelAnswerInput) =>
    agent({
      name,
      description: `Is the ${name}.`,
      instructions: `You are the ${name}.`,
      model: thinks(reach, name, first),
      tools,
      retry,
    })
  return supervisor({
    name: 'team',
    instructions: 'You lead.',
    retry,
    model: thinks(
      reach,
      'team',
      calls(
        ...['finder', 'payer', 'publisher'].map(
          (name) => ['delegate', { worker: name, instructions: `do what a ${name} does` }] as const,
        ),
      ),
    ),
    workers: [
      worker(
        'finder',
        [does('find', 'idempotent')],
        calls(['find', { topic: 'beaks' }], ['find', { topic: 'wings' }], ['find', { topic: 'eggs' }]),
      ),
      worker(
        'payer',
        [does('transfer', 'once')],
        calls(['transfer', { topic: 'rent' }], ['transfer', { topic: 'tax' }]),
      ),
      worker('publisher', [does('print', 'once', true)], calls(['print', { topic: 'ravens' }])),
    ],
  })
}

/** Everything that tortured processes can run. */
export function everything(reach: Reach, more: Readonly<Record<string, Rule>> = {}): Registry {
  const [rules, agents] = [scenario(reach, more), registerAgents([team(reach)], [], 'move')]
  return { find: (name, version) => rules.find(name, version) ?? agents.find(name, version), onMissingVersion: 'move' }
}
