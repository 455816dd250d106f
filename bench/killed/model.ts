/**
 * The model of all programs, over OpenAI's chat completions. With a tool `refund` it is the worker: it calls it, and
 * says that it did. Else it is the leader: it hands the work to its worker by the first tool that looks like it, and
 * then answers. It decides by what is in the request alone, so it answers a repeated request in the same way.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A tool as the request offers it. */
export interface Offered {
  readonly name: string
  readonly parameters?: {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>
    readonly required?: readonly string[]
  }
}
/** A request, as far as an answer depends on it. */
export interface Asked {
  readonly stream?: boolean
  readonly tools?: readonly { readonly function: Offered }[]
  readonly messages: readonly { readonly role: string; readonly tool_calls?: readonly unknown[] }[]
}
/** What is answered: words, or one call. */
export interface Answer {
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: object }
}

function answerOf({ tools = [], messages }: Asked): Answer {
  const offered = tools.map((tool) => tool.function)
  const hasCalled = messages.some((message) => (message.tool_calls ?? []).length > 0)
  if (offered.some(({ name }) => name === 'refund'))
    return hasCalled ? { text: 'Order 7 is refunded.' } : { call: { name: 'refund', input: { order: 7, dollars: 40 } } }
  if (hasCalled) return { text: 'The order is refunded.' }
  const worker = offered.find(({ name }) => name === 'delegate' || name.includes('clerk'))
  if (worker === undefined)
    throw new Error(`no tool for the worker among ${offered.map(({ name }) => name).join(', ')}`)
  if (worker.name === 'delegate') return { call: { name: 'delegate', input: { worker: 'clerk', instructions: brief } } }
  const { properties = {}, required = Object.keys(properties) } = worker.parameters ?? {}
  const texts = required.filter((name) => properties[name]?.type === 'string')
  return { call: { name: worker.name, input: Object.fromEntries(texts.map((name) => [name, brief])) } }
}

const brief = 'Refund $40 for order 7.'

async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Asked
}

/** A running model. */
interface Model {
  /** The base address, with `/v1`. */
  readonly url: string
  readonly stop: () => void
}

/**
 * Starts it on a free port of the loopback interface. `answers`: what it says. Default: what refunds an order. `hear` is
 * told each request.
 */
export async function startModel(
  answers: (asked: Asked) => Answer = answerOf,
  hear?: (asked: Asked) => void,
): Promise<Model> {
  let count = 0
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const asked = await bodyOf(request)
      hear?.(asked)
      const { text, call } = answers(asked)
      const id = `answer-${++count}`
      const calls = call === undefined ? [] : [called(id, call)]
      const made = calls.length === 0 ? undefined : { tool_calls: calls }
      const finish_reason = call === undefined ? 'stop' : 'tool_calls'
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
      const common = { id, created: 1, model: 'fake' }
      if (asked.stream !== true) {
        const message = { role: 'assistant', content: text ?? null, ...made }
        response.writeHead(200, { 'content-type': 'application/json' })
        const choices = [{ index: 0, message, finish_reason }]
        response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }))
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const delta = { role: 'assistant', content: text ?? null, ...made }
      for (const choices of [[{ index: 0, delta, finish_reason: null }], [{ index: 0, delta: {}, finish_reason }], []])
        response.write(
          `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...(choices.length === 0 ? { usage } : undefined) })}\n\n`,
        )
      response.end('data: [DONE]\n\n')
    }
    answer().catch((thrown: unknown) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: String(thrown), type: 'invalid_request_error' } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const called = (id: string, { name, input }: { readonly name: string; readonly input: object }): object => ({
  index: 0,
  id: `call-${id}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})
