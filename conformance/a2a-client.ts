/** The official client of A2A, over one binding, and what its streams say. */
import { Role, TaskState, type Message, type StreamResponse, type Task } from '@a2a-js/sdk'
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client'
import { token } from './serving.ts'

type Data = Readonly<Record<string, unknown>>

const authenticated = createAuthenticatingFetchWithRetry(fetch, {
  headers: () => Promise.resolve({ Authorization: `Bearer ${token}` }),
  shouldRetryWithHeaders: () => Promise.resolve(undefined),
})

/** A client that knows one binding alone. */
export function connect(url: string, binding: 'JSONRPC' | 'HTTP+JSON'): Promise<Client> {
  const transport =
    binding === 'JSONRPC'
      ? new JsonRpcTransportFactory({ fetchImpl: authenticated })
      : new RestTransportFactory({ fetchImpl: authenticated })
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [transport],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver(),
    }),
  ).createFromUrl(url)
}

export const text = (value: string): Message['parts'][number] => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
})
export const data = (value: Data): Message['parts'][number] => ({ ...text(''), content: { $case: 'data', value } })

export const asking = (part: Message['parts'][number], more: Partial<Message> = {}) => ({
  tenant: '',
  configuration: undefined,
  metadata: undefined,
  message: {
    messageId: crypto.randomUUID(),
    role: Role.ROLE_USER,
    parts: [part],
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
})

export async function all(stream: AsyncIterable<StreamResponse>): Promise<readonly StreamResponse[]> {
  const seen: StreamResponse[] = []
  for await (const each of stream) seen.push(each)
  return seen
}

/** The kind of each message of a stream, with the state that it names. */
export const told = (seen: readonly StreamResponse[]): readonly string[] =>
  seen.map(({ payload }) => {
    if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
      return `${payload.$case} ${TaskState[payload.value.status!.state].replace('TASK_STATE_', '')}`
    return payload?.$case ?? 'nothing'
  })

export const taskIn = (seen: readonly StreamResponse[]): Task => {
  const first = seen[0]?.payload
  if (first?.$case !== 'task') throw new Error('the stream did not begin with a task')
  return first.value
}

/** The data parts of the question that a stream ended with. */
export function questionIn(seen: readonly StreamResponse[]): Data {
  const last = seen.at(-1)?.payload
  const parts = last?.$case === 'statusUpdate' ? last.value.status?.message?.parts : undefined
  const found = parts?.find(({ content }) => content?.$case === 'data')?.content
  if (found?.$case !== 'data') throw new Error('the stream did not end with a question')
  return found.value as Data
}
