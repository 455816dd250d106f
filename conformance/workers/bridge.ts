/**
 * Bridge: lets a worker in another process play a part of the contract in this one, over HTTP on 127.0.0.1.
 *
 * Owns: both ends. A request that is given up aborts the signal of its tool. Imported by child processes, so it imports
 * nothing of Reeve but types.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import type { WorkerPart } from 'reeve/testing'

type Body = { readonly [name: string]: unknown }

/** Serves a part; `close` ends all that is open. */
export async function bridge(part: WorkerPart): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(part, request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(JSON.stringify({ error: thrown instanceof Error ? thrown.message : String(thrown) }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(part: WorkerPart, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
  const gone = new AbortController()
  response.on('close', () => gone.abort(new Error('given up')))
  const io = { key: body['key'] as string | undefined, signal: gone.signal }
  if (request.url === '/pieces') {
    response.writeHead(200)
    for await (const piece of part.pieces(body['text'] as string)) response.write(`${JSON.stringify(piece)}\n`)
    return void response.end()
  }
  const value =
    request.url === '/model'
      ? await part.model(body['turn'] as number, body['shown'] as string)
      : request.url === '/work'
        ? await part.work(body as { item: string }, io)
        : await part.publish(body as { text: string }, io)
  response.end(JSON.stringify({ value }))
}

/** The part as the other process has it. */
export function remotePart(url: string): Omit<WorkerPart, 'turns' | 'usage'> {
  const call = async (path: string, body: Body, signal?: AbortSignal): Promise<unknown> => {
    const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) })
    const { value, error } = (await response.json()) as { value: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return value
  }
  return {
    model: (turn, shown) => call('/model', { turn, shown }) as ReturnType<WorkerPart['model']>,
    work: (input, io) => call('/work', { ...input, key: io?.key }, io?.signal) as Promise<string>,
    publish: (input, io) => call('/publish', { ...input, key: io?.key }, io?.signal) as Promise<string>,
    async *pieces(text) {
      const response = await fetch(`${url}/pieces`, { method: 'POST', body: JSON.stringify({ text }) })
      let rest = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body!) {
        const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
        rest = lines.pop()!
        for (const line of lines) yield JSON.parse(line) as string
      }
    },
  }
}

/** Starts a program of this folder, and waits for its first line. `close` ends it. */
export async function program(
  name: string,
  ...args: readonly string[]
): Promise<{ readonly line: string; close(): Promise<void> }> {
  const child = spawn(process.execPath, ['--no-warnings', new URL(name, import.meta.url).pathname, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const [line] = (await once(lines, 'line')) as [string]
  return {
    line,
    async close() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
