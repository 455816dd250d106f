/**
 * Tools that the client runs, with the process dying at every point where it can: the client is asked once for each
 * call, its answer counts once, and nothing recorded runs again. K5, K6.
 */
import { describe } from 'vitest'
import { agent, clientTool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { sequential } from '@reeve/flow'
import { clientCallIn } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { scripted, teamScenario, type ManualClock, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const pick = clientTool({
  name: 'pick',
  description: 'Lets the user pick a file.',
  input: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
  output: { type: 'string' },
})
const calls = (...what: readonly string[]) => ({
  calls: what.map((each) => ({ name: 'pick', input: { what: each } })),
})
const picker = (name: string, tools = [pick]): Agent =>
  agent({ name, description: 'Picks.', model: scripted(calls('a'), `${name} has picked`), tools })

/** What a client does with whatever it is asked to run: first something that does not fit. */
const client =
  (answers: (tool: string, input: Json) => Json | undefined) =>
  async (runtime: Runtime, clock: ManualClock): Promise<void> => {
    const open = await runtime.questions()
    for (const { id, kind, body } of open) {
      const call = clientCallIn(body as Json)
      if (kind === 'approval')
        await runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' }).catch(() => undefined)
      if (call === undefined) continue
      const value = answers(call.tool, call.input)
      if (value === undefined) continue
      await runtime.answer({ interruptId: id, value: 'no answer', by: 'ada' }).catch(() => undefined)
      await runtime.answer({ interruptId: id, value, by: 'ada' }).catch(() => undefined)
    }
    if (open.every(({ body }) => (body as { readonly until?: number }).until !== undefined)) clock.advanceToNext()
  }
const scenario = (name: string, root: Agent, answers: (tool: string, input: Json) => Json | undefined): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', outside: client(answers) })

describe('two calls of one answer', () => {
  diesEverywhere(
    scenario(
      'two calls of the client',
      agent({ name: 'lead', model: scripted(calls('a', 'b'), 'both are there'), tools: [pick] }),
      () => ({ output: 'x.txt' }),
    ),
    { status: 'completed', output: 'both are there' },
  )
})

describe('a worker two levels down', () => {
  const leads = (name: string, worker: Agent): Agent =>
    supervisor({
      name,
      description: 'Leads.',
      model: scripted(
        { calls: [{ name: 'delegate', input: { worker: worker.name, instructions: 'go' } }] },
        `${name} is done`,
      ),
      workers: [worker],
    })
  diesEverywhere(
    scenario('a client tool at depth 2', leads('root', leads('mid', picker('leaf'))), () => ({ output: 'x.txt' })),
    { status: 'completed', output: 'root is done' },
  )
})

describe('a flow, an approval before it, an error of the client, a deadline', () => {
  const kinds = [
    ['a flow', sequential({ name: 'flow', agents: [picker('one'), picker('two')] }), { output: 'x' }, 'two has picked'],
    [
      'an approval first',
      picker('careful', [clientTool({ name: 'pick', description: 'Picks.', sensitive: true })]),
      { output: 'x' },
      'careful has picked',
    ],
    ['an error', picker('failing'), { error: 'no file' }, 'failing has picked'],
    [
      'nobody answers in time',
      picker('late', [clientTool({ name: 'pick', description: 'Picks.', timeoutMs: 5_000 })]),
      undefined,
      'late has picked',
    ],
    [
      'in the background',
      agent({
        name: 'busy',
        model: scripted(calls('a'), 'meanwhile', 'busy has picked'),
        tools: [clientTool({ name: 'pick', description: 'Picks.', background: true })],
      }),
      { output: 'x' },
      'busy has picked',
    ],
  ] as const
  for (const [name, root, answer, output] of kinds)
    diesEverywhere(
      scenario(`client tool: ${name}`, root, () => answer),
      { status: 'completed', output },
    )
})
