/**
 * A real coding agent of ACP, by `@agentclientprotocol/sdk`, that plays a part: `node acp-agent.ts <bridge> <folder>`. Its
 * sessions are files of the folder, so another process can load them.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream, type SessionNotification } from '@agentclientprotocol/sdk'
import { remotePart } from './bridge.ts'

const [bridge, folder, mode] = process.argv.slice(2)
const part = remotePart(bridge!)
const fileOf = (session: string): string => join(folder!, `${session}.json`)
const sessions = new Map<string, { told: string[]; stop: AbortController }>()
const save = (session: string): void => writeFileSync(fileOf(session), JSON.stringify(sessions.get(session)!.told))

const app = agent({ name: 'part' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: mode !== 'forgets' },
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = crypto.randomUUID()
    sessions.set(sessionId, { told: [], stop: new AbortController() })
    return { sessionId }
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    const told = existsSync(fileOf(sessionId)) ? (JSON.parse(readFileSync(fileOf(sessionId), 'utf8')) as string[]) : []
    sessions.set(sessionId, { told, stop: new AbortController() })
    for (const text of told)
      await client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'user_message_chunk', content: { type: 'text', text } },
      })
    return {}
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.stop.abort(new Error('cancelled'))
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params
    const { told, stop } = sessions.get(sessionId)!
    const key = params._meta?.['reeve/key'] as string | undefined
    const [block] = params.prompt
    // to be told to go on is no result
    if (told.length === 0) told.push(block?.type === 'text' ? block.text : '')
    save(sessionId)
    const update = (given: SessionNotification['update']): Promise<void> =>
      client.notify(methods.client.session.update, { sessionId, update: given })
    for (;;) {
      const n = told.length - 1
      const turn = await part.model(n, told.join('\n'))
      if ('say' in turn) {
        for await (const text of part.pieces(turn.say))
          await update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
        return { stopReason: 'end_turn' as const }
      }
      if ('ask' in turn) {
        const answer = await client.request(methods.client.elicitation.create, {
          sessionId,
          mode: 'form',
          message: turn.ask,
          requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
        })
        const content = answer.action === 'accept' ? (answer.content as Record<string, unknown>) : {}
        told.push(String(content['answer'] ?? 'no answer'))
        save(sessionId)
        continue
      }
      const toolCallId = `call_${n}`
      await update({
        sessionUpdate: 'tool_call',
        toolCallId,
        title: `${turn.call} it`,
        kind: turn.call === 'work' ? 'read' : 'edit',
        rawInput: turn.input,
      })
      if (turn.call === 'work') told.push(await part.work(turn.input, { key, signal: stop.signal }))
      else {
        const { outcome } = await client.request(methods.client.session.requestPermission, {
          sessionId,
          toolCall: { toolCallId },
          options: [
            { optionId: 'always', name: 'Always', kind: 'allow_always' },
            { optionId: 'once', name: 'Once', kind: 'allow_once' },
            { optionId: 'no', name: 'No', kind: 'reject_once' },
          ],
        })
        const allowed = outcome.outcome === 'selected' && outcome.optionId === 'once'
        told.push(allowed ? await part.publish(turn.input, { key, signal: stop.signal }) : 'it was not allowed')
      }
      save(sessionId)
      await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
    }
  })

if (mode === 'with a child') {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  writeFileSync(join(folder!, 'child.json'), JSON.stringify([process.pid, child.pid]))
}
app.connect(
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  ),
)
// whoever started it is gone
process.stdin.on('end', () => process.exit(0))
