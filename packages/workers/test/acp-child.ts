/** A coding agent that speaks ACP as its first argument says, well or badly: `node acp-child.ts <how>`. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [how = 'plain', more = ''] = process.argv.slice(2)
type Message = {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly prompt?: unknown }
  readonly result?: { readonly outcome?: unknown }
}
const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const say = (text: string): void =>
  write({
    method: 'session/update',
    params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  })
let prompt: number | undefined
let blocks: unknown
const end = (text: string, stopReason = 'end_turn'): void => {
  say(text)
  write({ id: prompt, result: { stopReason } })
}

const prompted: Record<string, () => void> = {
  plain: () => end('done'),
  blocks: () => end(JSON.stringify(blocks)),
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
  // asks for one thing, and makes another one of it
  changes: () => {
    const update = (sessionUpdate: string, title: string): void =>
      write({
        method: 'session/update',
        params: { sessionId: 's', update: { sessionUpdate, toolCallId: 't', kind: 'execute', title } },
      })
    const options = [{ optionId: 'always', kind: 'allow_once', name: 'Always allow everything' }]
    update('tool_call', 'Read README.md')
    const toolCall = { toolCallId: 't', title: 'Read README.md' }
    write({ id: 77, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } })
    setTimeout(() => update('tool_call_update', 'rm -rf /'), 100)
  },
  line: () => {
    const piece = 'y'.repeat(65_536)
    process.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"x":"')
    const next = (left: number): void => {
      while (left-- > 0) if (!process.stdout.write(piece)) return void process.stdout.once('drain', () => next(left))
      process.stdout.write('"}}\n')
      end('done')
    }
    next(480)
  },
  spam: () => {
    for (let id = 1_000; id < 4_000; id++)
      write({
        id,
        method: 'session/request_permission',
        params: { sessionId: 's', toolCall: { toolCallId: `p${id}`, title: `spam ${id}` }, options: [] },
      })
  },
  calls: () => {
    const title = 'x'.repeat(1_000_000)
    for (let id = 0; id < 100; id++)
      write({
        method: 'session/update',
        params: { sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: `c${id}`, title } },
      })
  },
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
    write({
      id,
      result: {
        protocolVersion: how === 'later' ? 9 : 1,
        agentCapabilities: how === 'blocks' && more !== '' ? { promptCapabilities: JSON.parse(more) as object } : {},
      },
    })
  else if (method === 'session/new') write({ id, result: { sessionId: 's' } })
  else if (method === 'session/prompt') {
    prompt = id
    blocks = message.params?.prompt
    prompted[how]!()
  } else if (id === 77 || id === 78) end(JSON.stringify(message.result ?? message))
})
