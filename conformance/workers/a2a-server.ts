/** A real A2A 1.0 server, by `@a2a-js/sdk`, whose agent plays a part: `node a2a-server.ts <bridge>`. Prints its address. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Role, TaskState, type AgentCard, type Message } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { remotePart } from './bridge.ts'

/** As much of an express application as is used. */
type Application = RequestListener & { use(path: string, handler: unknown): void }

const part = remotePart(process.argv[2]!)
const textPart = (value: string) => ({
  content: { $case: 'text' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
})
const textOf = (message: Message): string =>
  message.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

class PartExecutor implements AgentExecutor {
  /** What each task was told so far, and what stops it. */
  readonly #told = new Map<string, string[]>()
  readonly #stops = new Map<string, AbortController>()

  async execute(ctx: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage } = ctx
    const status = (state: TaskState, text?: string) => ({
      state,
      message:
        text === undefined
          ? undefined
          : {
              messageId: crypto.randomUUID(),
              role: Role.ROLE_AGENT,
              parts: [textPart(text)],
              contextId,
              taskId,
              metadata: undefined,
              extensions: [],
              referenceTaskIds: [],
            },
      timestamp: new Date().toISOString(),
    })
    const says = (state: TaskState, text?: string): void =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, text), metadata: undefined }))
    if (ctx.task === undefined)
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: status(TaskState.TASK_STATE_SUBMITTED),
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      )
    says(TaskState.TASK_STATE_WORKING)
    const told = this.#told.get(taskId) ?? []
    this.#told.set(taskId, told)
    told.push(textOf(userMessage))
    const stop = new AbortController()
    this.#stops.set(taskId, stop)
    try {
      for (;;) {
        const turn = await part.model(told.length - 1, told.join('\n'))
        if ('say' in turn) {
          let append = false
          for await (const piece of part.pieces(turn.say)) {
            const artifact = {
              artifactId: 'answer',
              name: 'answer',
              description: '',
              parts: [textPart(piece)],
              metadata: undefined,
              extensions: [],
            }
            bus.publish(
              AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: false, metadata: undefined }),
            )
            append = true
          }
          says(TaskState.TASK_STATE_COMPLETED)
          break
        }
        if ('ask' in turn) {
          says(TaskState.TASK_STATE_INPUT_REQUIRED, turn.ask)
          break
        }
        told.push(
          turn.call === 'work'
            ? await part.work(turn.input, { key: userMessage.messageId, signal: stop.signal })
            : await part.publish(turn.input, { key: userMessage.messageId, signal: stop.signal }),
        )
      }
    } catch (thrown) {
      if (stop.signal.aborted) says(TaskState.TASK_STATE_CANCELED)
      else says(TaskState.TASK_STATE_FAILED, (thrown as Error).message)
    }
    bus.finished()
  }

  async cancelTask(taskId: string): Promise<void> {
    this.#stops.get(taskId)?.abort(new Error('canceled'))
  }
}

// its types are a package of their own, and nothing here needs them
const { default: express } = (await import('express' as string)) as { default: () => Application }
const app = express()
const server = createServer(app)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const card: AgentCard = {
  name: 'Part',
  description: 'Plays its part.',
  supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  provider: undefined,
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
}
const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new PartExecutor())
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler }))
app.use('/a2a', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
console.log(url)
