/** A coding agent that speaks ACP as its first argument says, well or badly: `node acp-child.ts <how>`. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [how = 'plain', more = ''] = process.argv.slice(2)
type Message = { readonly id?: number; readonly method?: string; readonly result?: { readonly outcome?: unknown } }
const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const say = (text: string): void =>
  write({
    method: 'session/update',
    params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  })
let prompt: number | undefined
const end = (text: string, stopReason = 'end_turn'): void => {
  say(text)
  write({ id: prompt, result: { stopReason } })
}

const prompted: Record<string, () => void> = {
  plain: () => end('done'),
  world: () => end(JSON.stringify({ cwd: process.cwd(), env: process.env })),
  refuses: () => end('no', 'refusal'),
  dies: () => {
    process.stderr.write('out of memory\n')
    process.exit(3)
  },
  garbage: () => void process.stdout.write('this is no JSON\n'),
  silent: () => {},
  family: () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    say(`${process.pid} ${child.pid}`)
  },
  // whatever it is allowed, it says
  permission: () =>
    write({
      id: 77,
      method: 'session/request_permission',
      params: {
        sessionId: 's',
        toolCall: { toolCallId: 't', kind: 'execute', title: 'rm', rawInput: { command: 'rm -rf /' } },
        options: JSON.parse(more),
      },
    }),
  files: () => write({ id: 78, method: 'fs/read_text_file', params: { sessionId: 's', path: '/etc/passwd' } }),
  hostile: () => {
    process.stdout.write(`${more}\n`)
    end('done')
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Message
  const { id, method } = message
  if (method === 'initialize')
    write({ id, result: { protocolVersion: how === 'later' ? 9 : 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: 's' } })
  else if (method === 'session/prompt') {
    prompt = id
    prompted[how]!()
  } else if (id === 77 || id === 78) end(JSON.stringify(message.result ?? message))
})
