/** Tools that the client runs: only the client of a run says what came of them, whatever the way. */
import type { Json } from '@reeve/core'
import { area, holds, short } from '../attack.ts'
import type { Person } from '../people.ts'
import type { Answer, Asked, World } from '../world.ts'

/** Sends a result over each way, as this person. */
const ways: Readonly<
  Record<string, (world: World, who: Person, asked: Asked, session: string, value: Json) => Promise<Answer>>
> = {
  http: (world, who, { id }, _session, value) =>
    world.post(who, `/interrupts/${id}/answer`, { value: { output: value } }),
  decide: (world, who, { id }) => world.post(who, `/approvals/${id}/decision`, { decision: 'approve' }),
  settle: (world, who, { id }, _session, value) =>
    world.post(who, `/questions/${id}/settle`, { happened: true, value: { output: value } }),
  chat: (world, who, { id, run }, session, output) =>
    world.ask(who, 'POST', '/chat', {
      id: session,
      messages: [
        {
          id: run,
          role: 'assistant',
          parts: [{ type: 'dynamic-tool', state: 'output-available', output, toolMetadata: { question: id } }],
        },
      ],
    }),
  responses: (world, who, { id, run }, _session, value) =>
    world.ask(who, 'POST', '/v1/responses', {
      model: 'x',
      previous_response_id: run.replace('run_', 'resp_'),
      input: [{ type: 'function_call_output', call_id: id, output: typeof value === 'string' ? value : '7' }],
    }),
  'ag-ui': (world, who, { id }, session, output) =>
    world.say('ag-ui', who, 'pager', {
      session,
      more: { messages: [], resume: [{ interruptId: id, status: 'resolved', payload: { output } }] },
    }),
  'ag-ui-message': async (world, who, { id, run }, session, value) => {
    const found = (await world.runtime.handle(run).view()).interrupts.find((each) => each.id === id)!
    const toolCallId = `${found.activation}:turn#1/model/${found.callId}`
    return world.say('ag-ui', who, 'pager', {
      session,
      more: { messages: [{ id: 'x', role: 'tool', toolCallId, content: JSON.stringify(value) }] },
    })
  },
  a2a: (world, who, { id, run }, _session, output) =>
    world.a2a(who, 'pager', 'SendMessage', {
      message: { messageId: world.fresh('m'), role: 'ROLE_USER', taskId: run, parts: [{ data: { id, output } }] },
    }),
  mcp: (world, who, { id }, _session, output) => world.mcp(who, 'answer', { question: id, value: { output } }),
}

/** Everybody but the user of the run and the administrators of its tenant. */
const others = ['bob', 'amy', 'avery', 'otto', 'paula', 'greta', 'gustav'] as const

const isOpen = async (world: World, { id, run }: Asked): Promise<boolean> => {
  await world.rest(run)
  return (await world.runtime.questions({ run })).some((each) => each.id === id)
}

export const clientToolAttacks = area('Client tools', [
  ...Object.entries(ways).map(([way, attempt]) => ({
    id: `client-tool-${way}`,
    holds: `No one but its user and an admin of the tenant says what the client of a run has run (${way}).`,
    async run(world: World) {
      const asked = await world.asked('anton', 'pager', 'sign', { session: 's1' })
      for (const who of others) {
        const answer = await attempt(world, who, asked, 's1', 'forged')
        holds(await isOpen(world, asked), `${who} answered it: ${answer.status} ${short(answer.text)}`)
      }
    },
  })),
  ...(['http', 'chat', 'ag-ui', 'a2a', 'mcp'] as const).map((way) => ({
    id: `client-tool-misfit-${way}`,
    holds: `A result that does not fit its schema is refused, and nothing is lost (${way}).`,
    async run(world: World) {
      const asked = await world.asked('anton', 'pager', 'sign', { session: 's1' })
      const answer = await ways[way]!(world, 'anton', asked, 's1', { __proto__: null, toString: 'x' })
      holds(await isOpen(world, asked), `it was answered: ${answer.status} ${short(answer.text)}`)
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  })),
  {
    id: 'client-tool-own',
    holds: 'The user of a run answers over HTTP: the attacks reach the question.',
    async run(world) {
      const asked = await world.asked('anton', 'pager', 'sign', { session: 's1' })
      const answer = await ways['http']!(world, 'anton', asked, 's1', 'signed')
      await world.settled(asked.run, asked.id)
      holds(answer.status === 204 && !(await isOpen(world, asked)), `${answer.status} ${short(answer.text)}`)
    },
  },
])
