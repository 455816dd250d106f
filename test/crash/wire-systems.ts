/**
 * The four ways of working together, with members that think with a model on a wire: what the process that is killed
 * drives, and the one after it. Started as a script it is that process. Arguments: the store, the file of the deeds, the
 * model, the options of `resolveModel` as JSON.
 */
import { appendFileSync } from 'node:fs'
import { agent, tool, type Agent } from '@reeve/agent'
import { sequential } from '@reeve/flow'
import { resolveModel, type Model, type ResolveOptions } from '@reeve/model'
import { createRuntime } from '@reeve/runtime'
import { roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'

/** The names of the teams, which stand in the instructions of their members. */
export const systems = ['supervised', 'planned', 'flowing', 'seated'] as const
export type System = (typeof systems)[number]
export const receipt = 'receipt 77'

/** The teams. Each has a payer with a `once` tool, and a writer. */
export function systemsOn(model: Model, deeds: string): readonly Agent[] {
  const members = (system: System): readonly [payer: Agent, writer: Agent] => {
    const member = (role: string, more: object = {}): Agent =>
      agent({
        name: `${system}_${role}`,
        description: `Is the ${role}.`,
        instructions: `You are the ${role} of ${system}.`,
        model,
        retry: { attempts: 3, backoffMs: 5 },
        ...more,
      })
    const pay = tool({
      name: 'pay',
      effect: 'once',
      input: { type: 'object', properties: { invoice: { type: 'string' } }, required: ['invoice'] },
      execute() {
        appendFileSync(deeds, `${system}\n`)
        return receipt
      },
    })
    return [member('payer', { tools: [pay] }), member('writer')]
  }
  const [payer, writer] = members('planned')
  return [
    supervisor({
      name: 'supervised',
      instructions: 'You are the leader of supervised.',
      model,
      workers: members('supervised'),
    }),
    team({
      name: 'planned',
      roles: { payer, writer },
      planner: {
        subtasks: [
          { id: 'a', description: 'Pay.', role: 'payer' },
          { id: 'b', description: 'Write.', role: 'writer', dependencies: ['a'] },
        ],
      },
    }),
    sequential({ name: 'flowing', agents: [...members('flowing')] }),
    roundtable({ name: 'seated', agents: [...members('seated')], speaker: 'round-robin', maxRounds: 2 }),
  ]
}

if (import.meta.main) {
  const [store, deeds, model, options] = process.argv.slice(2) as [string, string, string, string]
  const agents = systemsOn(resolveModel(model, JSON.parse(options) as ResolveOptions), deeds)
  const runtime = await createRuntime({ store, agents })
  for (const name of systems) await runtime.start(name, 'Pay and write.', { runId: name })
}
