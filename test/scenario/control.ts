/** What the cases of control are told with and read by: a turn that hands over, the way control took, what was said. */
import type { Json } from '@reeve/core'
import { agent, tool, type Agent, type CodeAgentOptions } from '@reeve/agent'
import type { Recorded, RunView, Spoken } from '@reeve/journal'
import type { Message, ModelAnswerInput } from '@reeve/model'
import { calls, runtimeOf, scripted, type Scripted } from './team.ts'

/** A turn that hands control to another agent. */
export const xfer = (to: string, id?: string, task?: string): ModelAnswerInput =>
  calls([
    'transfer_to_agent',
    { agent_name: to, ...(task === undefined ? {} : { task }) },
    ...(id === undefined ? [] : [id]),
  ] as unknown as [string, Json])

/** A worker that thinks with a model. */
export const worker = (name: string, model: Scripted = scripted(`${name} result`)) =>
  agent({ name, description: `Does what ${name} does.`, model })

/** A tool that asks for an approval; what it did is in `done`. */
export const pay = (done: Json[] = []) =>
  tool({
    name: 'pay',
    sensitive: true,
    input: { type: 'object', properties: { n: { type: 'number' } } },
    execute: (input) => (done.push(input), 'paid'),
  })

/** The paths of those who worked, in the order in which they began. */
export const ways = ({ activations }: RunView): string[] => activations.map(({ path }) => path.join('/'))

/** One thing said, in one line: who, where, what. */
export function line(said: Spoken): string {
  const { agent: name, path } = said
  return `${name} ${path.join('/')} ${wordsOf(said)}`
}

function wordsOf(said: Spoken): string {
  switch (said.type) {
    case 'assistant': {
      const called = (said.calls ?? []).map((call) => `${call.name}(${JSON.stringify(call.input)})`)
      return `says: ${[...(said.text === '' ? [] : [said.text]), ...called].join(' + ')}`
    }
    case 'tool':
      return `${said.tool}: ${JSON.stringify(said.content)}${said.action === undefined ? '' : ` > ${said.action.to}`}`
    case 'action':
      return said.action.type === 'exit' ? `exit ${said.action.scope}` : said.action.type
    case 'error':
      return `error: ${said.failure.code}`
    case 'ended':
      return said.outcome.status
    case 'interrupt':
    case 'approval':
      return said.type
  }
}

/** Everything that was said in an ended run. */
export async function said(run: { messages(): AsyncIterable<Spoken> }): Promise<Spoken[]> {
  const all: Spoken[] = []
  for await (const each of run.messages()) all.push(each)
  return all
}

/** Everything that was said in an ended run, in one line each. */
export const lines = async (run: { messages(): AsyncIterable<Spoken> }): Promise<string[]> =>
  (await said(run)).map(line)

/** Who handed control to whom, and by what, in an ended run. */
export async function hops(run: { events(): AsyncIterable<Recorded> }): Promise<string[]> {
  const list: string[] = []
  for await (const { event } of run.events())
    if (event.type === 'agent.transferred') list.push(`${event.from} > ${event.to} by ${event.by}`)
  return list
}

/** What a model was shown besides its instructions. */
export const withoutSystem = (prompt: readonly Message[] | undefined): Message[] =>
  (prompt ?? []).filter(({ role }) => role !== 'system')
/** A message from outside, or of another agent in the third person. */
export const user = (content: string): Message => ({ role: 'user', content })
/** A worker that is code. */
export const code = (name: string, run: CodeAgentOptions<string, undefined, undefined, unknown>['run']): Agent =>
  agent({ name, description: `Does what ${name} does.`, run })
/** A lead that hands control to these, one after the other, and then answers. */
export const leadTo = (...names: string[]): Scripted => scripted(...names.map((name) => xfer(name)), 'final')

/** Runs it to its end and reads what there is to read. */
export async function played(root: Agent, options: { limits?: { turns: number } } = {}) {
  const run = await (await runtimeOf([root])).start(root, 'task', options)
  const outcome = await run.outcome()
  return { run, outcome, heard: await lines(run), paths: ways(await run.view()), moves: await hops(run) }
}
