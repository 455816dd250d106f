/** Servers that are killed with SIGKILL while official clients read: what goes on afterwards, and what is not repeated. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { once } from 'node:events'
import { HttpAgent, type Interrupt } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { expect, test, vi } from 'vitest'
import { all, asking, connect, data, questionIn, taskIn, text, told } from './a2a-client.ts'
import { afterwards, folder, token } from './serving.ts'

/** A server in a process of its own, on one folder and one port. */
class Served {
  readonly #folder = folder()
  #child: ChildProcess | undefined
  #port = '0'
  url = ''

  async start(): Promise<void> {
    const script = join(import.meta.dirname, 'protocols-child.ts')
    const child = spawn(process.execPath, ['--no-warnings', script, this.#folder, this.#port, token], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    afterwards(() => void child.kill('SIGKILL'))
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    this.url = line
    this.#port = new URL(line).port
  }

  async kill(): Promise<void> {
    const child = this.#child!
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  open(name: 'first' | 'last'): void {
    this.write(`open-${name}`)
  }

  write(name: string): void {
    writeFileSync(join(this.#folder, name), '')
  }

  get log(): readonly string[] {
    const path = join(this.#folder, 'log')
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  }
}

/** Processes start slowly on a machine with much to do. */
vi.setConfig({ testTimeout: 240_000 })

const patient = { timeout: 60_000 }

const count = ({ log }: Served, line: string): number => log.filter((each) => each === line).length

/**
 * A stream that is cut ends. The client cancels the reader of one that has failed, and leaves that rejection unhandled
 * (@ag-ui/client 1.0.0); it does not mind a stream without an end.
 */
async function cutQuietly(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const reader = response.body!.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader.read().catch(() => undefined)
      if (next?.value === undefined) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(body, response)
}

/** Clients of AG-UI one after the other, each with the same message, and what the last one has seen. */
function reader(served: Served) {
  const seen: { readonly type: string; readonly outcome?: { readonly interrupts?: readonly Interrupt[] } }[] = []
  const ask = (client: HttpAgent, parameters: Parameters<HttpAgent['runAgent']>[0]): Promise<unknown> => {
    seen.length = 0
    return client
      .runAgent(parameters, {
        onEvent: ({ event }) => {
          EventSchemas.parse(event)
          seen.push(event as (typeof seen)[number])
        },
      })
      .catch((thrown: unknown) => thrown)
  }
  const client = (): HttpAgent => {
    const agent = new HttpAgent({
      url: `${served.url}/ag-ui`,
      threadId: 'thread',
      headers: { Authorization: `Bearer ${token}` },
      fetch: cutQuietly,
    })
    agent.addMessage({ id: 'm1', role: 'user', content: 'Go.' })
    return agent
  }
  return { seen, ask, client }
}

test('AG-UI: the same request again shows the run from its beginning, and goes on; a resume again decides nothing', async () => {
  const served = new Served()
  await served.start()
  const { seen, ask, client } = reader(served)
  const first = ask(client(), { runId: 'one' })
  await expect.poll(() => count(served, 'model writer first'), patient).toBe(1)
  await expect.poll(() => seen.map(({ type }) => type), patient).toContain('SUBAGENT_STARTED')
  await served.kill()
  await first
  expect(seen.map(({ type }) => type)).not.toContain('RUN_FINISHED')

  await served.start()
  served.open('first')
  await ask(client(), { runId: 'one' })
  const types = seen.map(({ type }) => type)
  expect([types[0], types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
  expect(types.filter((type) => type === 'TEXT_MESSAGE_START')).toHaveLength(1)
  const interruptId = seen.at(-1)!.outcome!.interrupts![0]!.id
  const resume = { runId: 'two', resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] } as const
  const second = ask(client(), { ...resume, resume: [...resume.resume] })
  await expect.poll(() => count(served, 'model writer last'), patient).toBe(1)
  await served.kill()
  await second

  await served.start()
  served.open('last')
  await ask(client(), { ...resume, resume: [...resume.resume] })
  const said = seen.flatMap((event) => ('delta' in event ? [event.delta as string] : []))
  expect(said.join('')).toBe('It is out.All is done.')
  expect(seen.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' }, result: 'All is done.' })
  expect(count(served, 'effect publish')).toBe(1)
  expect(count(served, 'model chief first')).toBe(1)
  // once more, after the end: the same again
  await ask(client(), { ...resume, resume: [...resume.resume] })
  expect(seen.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  expect(count(served, 'model chief last')).toBe(1)
})

test('AG-UI: an effect that was in flight when the server was killed is an interrupt: it is not made again', async () => {
  const served = new Served()
  served.open('first')
  served.open('last')
  served.write('hold-effect')
  await served.start()
  const { seen, ask, client } = reader(served)
  await ask(client(), { runId: 'one' })
  const [approval] = seen.at(-1)!.outcome!.interrupts!
  const approve = { interruptId: approval!.id, status: 'resolved' as const, payload: { approved: true } }
  const approving = ask(client(), { runId: 'two', resume: [approve] })
  await expect.poll(() => count(served, 'effect publish'), patient).toBe(1)
  await served.kill()
  await approving

  await served.start()
  await ask(client(), { runId: 'two', resume: [approve] })
  const [doubt] = seen.at(-1)!.outcome!.interrupts!
  expect(doubt).toMatchObject({ reason: 'in_doubt', responseSchema: { required: ['happened'] } })
  const happened = { happened: true, value: { published: true } }
  const settle = { interruptId: doubt!.id, status: 'resolved' as const, payload: happened }
  await ask(client(), { runId: 'three', resume: [settle] })
  expect(seen.at(-1)).toMatchObject({ outcome: { type: 'success' }, result: 'All is done.' })
  expect(count(served, 'effect publish')).toBe(1)
})

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'A2A over %s: who subscribes again sees what was said and then the rest; a message again begins nothing',
  async (binding) => {
    const served = new Served()
    await served.start()
    const message = asking(text('Go.'))
    const reading = async (): Promise<unknown> => all((await connect(served.url, binding)).sendMessageStream(message))
    const cut = reading().catch((thrown: unknown) => thrown)
    await expect.poll(() => count(served, 'model writer first'), patient).toBe(1)
    await served.kill()
    await cut

    await served.start()
    const client = await connect(served.url, binding)
    const known = await client.sendMessage({ ...message, configuration: immediately })
    if (!('status' in known)) throw new Error('no task')
    const stream = client.resubscribeTask({ tenant: '', id: known.id })[Symbol.asyncIterator]()
    const begun = (await stream.next()).value!
    expect(told([begun])).toEqual(['task WORKING'])
    expect(taskIn([begun]).history).toHaveLength(2)
    served.open('first')
    const rest = [begun]
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) rest.push(next.value)
    expect(told(rest)).toEqual(['task WORKING', 'statusUpdate INPUT_REQUIRED'])
    const decision = asking(data({ id: questionIn(rest)['id'], decision: 'approve' }), { taskId: known.id })
    const deciding = all(client.sendMessageStream(decision)).catch((thrown: unknown) => thrown)
    await expect.poll(() => count(served, 'model writer last'), patient).toBe(1)
    await served.kill()
    await deciding

    await served.start()
    served.open('last')
    const end = await all((await connect(served.url, binding)).sendMessageStream(decision))
    expect(told(end).at(-1)).toMatch(/COMPLETED$/)
    expect(count(served, 'effect publish')).toBe(1)
    expect(count(served, 'model chief first')).toBe(1)
  },
)

const immediately = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true }
