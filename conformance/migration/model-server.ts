/**
 * A model for the programs of this folder, over OpenAI's two protocols: it asks `orders`, then `refunds`, whatever the
 * tools of a framework for that are called; as a worker it calls its one tool and says what came of it.
 */
import { LLMock, type ChatCompletionRequest, type FixtureResponse } from '@copilotkit/aimock'

interface Offered {
  readonly name: string
  readonly parameters: {
    readonly properties?: Readonly<Record<string, { readonly type?: string }>>
    readonly required?: readonly string[]
  }
}

/** What a model of the desk answers to a request. */
function answer(request: ChatCompletionRequest): FixtureResponse {
  const tools = (request.tools ?? []).map((tool) => tool.function as Offered)
  const made = request.messages
    .flatMap(({ tool_calls }) => tool_calls ?? [])
    .map((call) => JSON.stringify(call.function))
  const call = (name: string, input: object): FixtureResponse => ({
    toolCalls: [{ name, arguments: JSON.stringify(input) }],
  })
  const has = (name: string): boolean => tools.some((tool) => tool.name === name)
  const did = (name: string): boolean => made.some((text) => text.includes(name))
  if (has('look_up')) return did('"look_up"') ? { content: 'Order 7 was paid: $40.' } : call('look_up', { order: 7 })
  if (has('refund'))
    return did('"refund"') ? { content: 'Order 7 is refunded.' } : call('refund', { order: 7, dollars: 40 })
  const worker = ['orders', 'refunds'].find((name) => !did(name))
  if (worker === undefined) return { content: 'Order 7 is refunded: $40.' }
  const brief = worker === 'orders' ? 'What was paid for order 7?' : 'Refund $40 for order 7.'
  if (has('delegate')) return call('delegate', { worker, instructions: brief })
  const tool = tools.find(({ name }) => name.includes(worker))
  if (tool === undefined) throw new Error(`no tool for ${worker} among ${tools.map(({ name }) => name).join(', ')}`)
  const texts = Object.entries(tool.parameters.properties ?? {}).filter(
    ([name, { type }]) => type === 'string' && (tool.parameters.required ?? [name]).includes(name),
  )
  return call(tool.name, Object.fromEntries(texts.slice(0, 1).map(([name]) => [name, brief])))
}

/** Starts it on a free port of the loopback interface. */
export async function startModelServer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const mock = new LLMock({ port: 0, strict: true, logLevel: 'silent' })
  mock.on({ predicate: () => true }, answer)
  await mock.start()
  return { url: mock.url, stop: () => mock.stop() }
}
