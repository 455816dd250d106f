/** MCP, both directions, by the official inspector, the conformance suite and the server of everything. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { mcp, mcpServer, type McpOptions, type McpTools } from 'reeve/mcp'
import { createServer, listen } from 'reeve/server'
import { agent, createRuntime, type Json, type JsonObject, type Runtime } from 'reeve'

const root = import.meta.dirname
const bin = (name: string): string => join(root, 'node_modules', '.bin', name)
const node = join(root, '..', 'node_modules', '.bin', 'node')
const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

interface Ran {
  readonly code: number | null
  readonly out: string
}

/** Runs a program to its end; both of its outputs in one text. */
const ran = (command: string, ...args: string[]): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const path = `${join(root, '..', 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (out += piece.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, out }))
  })

/** Reeve as a server of MCP, without credentials: the suite knows none. */
async function served(): Promise<string> {
  const greeter = agent({ name: 'greeter', description: 'Greets.', run: (_ctx, name) => `Hello ${String(name)}` })
  const runtime = await createRuntime({ store: ':memory:', agents: [greeter] })
  const auth = () => ({ name: 'ann', roles: ['admin' as const] })
  const server = await listen(createServer({ runtime, auth, protocols: [mcpServer()] }), { port: 0 })
  open.push(runtime, server)
  return `${server.url}/mcp`
}

describe('the server', () => {
  test('the inspector lists the tools without a complaint, and calls one', async () => {
    const url = await served()
    const inspect = (...args: string[]) => ran(bin('mcp-inspector'), '--cli', url, '--transport', 'http', ...args)
    const listed = await inspect('--method', 'tools/list', '--strict')
    expect(listed.code, listed.out).toBe(0)
    for (const name of ['start_run', 'run_status', 'run_result', 'list_questions', 'decide', 'answer', 'cancel'])
      expect(listed.out).toContain(`"${name}"`)
    const called = await inspect('--method', 'tools/call', '--tool-name', 'start_run', '--tool-arg', 'input=Ann')
    expect(called.code, called.out).toBe(0)
    expect(called.out).toContain('Hello Ann')
  })

  test.each([
    ['dns-rebinding-protection', '2025-11-25', '2/2'],
    ['dns-rebinding-protection', '2026-07-28', '2/2'],
    ['server-initialize', '2025-11-25', '2/2'],
    ['ping', '2025-11-25', '2/2'],
    ['tools-list', '2025-11-25', '3/3'],
    ['tools-list', '2026-07-28', '4/4'],
    ['http-header-validation', '2026-07-28', '14/14'],
    // as many as a bare server of the official package
    ['server-stateless', '2026-07-28', '24/28'],
    ['caching', '2026-07-28', '4/7'],
  ])('conformance %s, %s: %s', async (scenario, version, passed) => {
    const baseline = ['--expected-failures', join(root, 'mcp-baseline.yaml')]
    const args = ['server', '--url', await served(), '--scenario', scenario, '--spec-version', version, ...baseline]
    const { code, out } = await ran(bin('conformance'), ...args)
    expect(code, out).toBe(0)
    expect(out).toContain(`Passed: ${passed}`)
  })
})

describe('the client', () => {
  test.each([
    ['initialize', '2025-11-25'],
    ['tools_call', '2025-11-25'],
    ['tools_call', '2026-07-28'],
    ['sse-retry', '2025-11-25'],
    ['elicitation-sep1034-client-defaults', '2025-11-25'],
    ['sep-2322-client-request-state', '2026-07-28'],
    ['request-metadata', '2026-07-28'],
    ['http-standard-headers', '2026-07-28'],
    ['http-invalid-tool-headers', '2026-07-28'],
    ['json-schema-ref-no-deref', '2026-07-28'],
  ])('conformance %s, %s', async (scenario, version) => {
    const command = `node --no-warnings ${join(root, 'mcp-client.ts')}`
    const args = [
      'client',
      '--command',
      command,
      '--scenario',
      scenario,
      '--spec-version',
      version,
      '--timeout',
      '50000',
    ]
    const { code, out } = await ran(bin('conformance'), ...args)
    expect(code, out).toBe(0)
    expect(out).toContain('OVERALL: PASSED')
  })
})

describe('the server of everything', () => {
  const everything: McpOptions = {
    command: node,
    args: [join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'), 'stdio'],
    name: 'everything',
  }
  const connected = async (options: McpOptions): Promise<McpTools> => {
    const tools = await mcp(options)
    open.push(tools)
    return tools
  }

  /** An agent that calls one tool; resolves to what its model was told. */
  async function called(
    tools: McpTools,
    name: string,
    input: JsonObject = {},
    whileItRuns: (runtime: Runtime) => Promise<void> = async () => undefined,
  ): Promise<Json> {
    const caller = agent({
      name: 'caller',
      description: 'Calls.',
      tools,
      model: ({ messages }) => {
        const last = messages.at(-1)!
        if (last.role !== 'tool') return { calls: [{ name, input }] }
        const { content, files } = last
        const shown = files?.map(({ mediaType, ...file }) => [mediaType, 'data' in file && file.data.length > 0])
        return { text: JSON.stringify(shown === undefined ? content : { content, shown }) }
      },
    })
    await using runtime = await createRuntime({ store: ':memory:', agents: [caller] })
    const run = await runtime.start('caller', 'go')
    await run.until('waiting')
    await whileItRuns(runtime)
    const outcome = await run.outcome()
    return outcome.status === 'completed' ? (JSON.parse(outcome.output as string) as Json) : outcome.status
  }

  test('its tools are called: text, structured content, pictures, errors, progress', async () => {
    const tools = await connected(everything)
    expect(await called(tools, 'echo', { message: 'Ann' })).toBe('Echo: Ann')
    expect(await called(tools, 'get-sum', { a: 2, b: 3 })).toBe('The sum of 2 and 3 is 5.')
    expect(await called(tools, 'get-structured-content', { location: 'Chicago' })).toMatchObject({ temperature: 36 })
    expect(await called(tools, 'get-tiny-image')).toEqual({
      content: "Here's the image you requested:\nThe image above is the MCP logo.",
      shown: [['image/png', true]],
    })
    expect(await called(tools, 'get-sum', { a: 'x' })).toMatch(/do not fit/)
    expect(await called(tools, 'trigger-long-running-operation', { duration: 1, steps: 2 })).toContain(
      'Long running operation completed',
    )
  })

  test('it asks a person in the middle of a call', async () => {
    // it offers this tool only after it knows that its client can ask, so it may come after the first list
    let tools = await connected(everything)
    await expect
      .poll(
        async () => {
          if (!tools.some(({ name }) => name === 'trigger-elicitation-request')) tools = await connected(everything)
          return tools.map(({ name }) => name)
        },
        { timeout: 30_000 },
      )
      .toContain('trigger-elicitation-request')
    const said = await called(tools, 'trigger-elicitation-request', {}, async (runtime) => {
      const [question] = await runtime.questions()
      expect(question).toMatchObject({
        kind: 'interrupt',
        body: { question: { message: expect.stringContaining('Please provide inputs') as string } },
      })
      await runtime.answer({ interruptId: question!.id, value: { name: 'Ann', check: true } })
    })
    expect(JSON.stringify(said)).toContain('Ann')
  })

  test('over HTTP, killed and started again: the next call finds it', async () => {
    const port = 40_000 + (process.pid % 10_000)
    const begun = async () => {
      const child = spawn(node, [everything.args![0]!, 'streamableHttp'], {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await new Promise<void>((resolve) =>
        child.stderr.on('data', (piece: Buffer) => /listening/i.test(piece.toString()) && resolve()),
      )
      return child
    }
    const first = await begun()
    const tools = await connected({ url: `http://127.0.0.1:${port}/mcp`, only: ['echo'] })
    expect(await called(tools, 'echo', { message: '1' })).toBe('Echo: 1')
    first.kill('SIGKILL')
    await new Promise((resolve) => first.once('exit', resolve))
    const second = await begun()
    try {
      expect(await called(tools, 'echo', { message: '2' })).toBe('Echo: 2')
    } finally {
      second.kill('SIGKILL')
    }
  })
})
