/**
 * Tools of an MCP server, as tools of an agent.
 *
 * Owns: `mcp()` and its options. Does not own: the connection (connection.ts), definitions and pins
 * (tool-definition.ts, pins.ts), what a call does (tool-call.ts).
 * Holds: an agent's version is made of the pinned definitions: whatever the server says later, the agent stays what it
 * was registered as.
 */
import { basename } from 'node:path'
import { tool, type Tool } from '@reeve/agent'
import {
  choice,
  duration,
  expects,
  FailureError,
  flag,
  isObject,
  listOf,
  mustBeOptions,
  object,
  optionProblems,
  own,
  ReeveError,
  recordOf,
  refuseProblems,
  text,
  present,
  type Checks,
  type Rule,
} from '@reeve/core'
import { McpConnection, type MadeTransport } from './connection.ts'
import { clientPackage, clientStdioPackage } from './packages.ts'
import { pinned } from './pins.ts'
import { BoundedLines, boundedFetch, readBound } from './read-bound.ts'
import { callOverMcp } from './tool-call.ts'
import {
  argumentSchema,
  definitionDigest,
  foreignCheck,
  shownDescription,
  toolNames,
  toolRules,
  type McpDefinition,
  type McpToolRules,
} from './tool-definition.ts'

/** How a server is reached, and what its tools are to agents. Give `url`, or `command`. */
export interface McpOptions {
  /** The address of a server over streamable HTTP. */
  readonly url?: string | URL
  /** Sent with every request to `url`. */
  readonly headers?: { readonly [name: string]: string }
  /**
   * Authentication for `url`, as the package `@modelcontextprotocol/client` takes it: `{ token }`, or an
   * `OAuthClientProvider`, which does all of OAuth.
   */
  readonly authProvider?: object
  /** A program that is a server on its standard input and output. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Its environment, besides the few variables that are safe to inherit. */
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
  /** What people are told the server is called, and its name in `pins`. Default: its host, or its command. */
  readonly name?: string
  /** What the names of its tools begin with, so that those of several servers do not collide. Default: nothing. */
  readonly prefix?: string
  /** The names of the tools that are wanted, as the server has them. Default: all. */
  readonly only?: readonly string[]
  /**
   * A file that keeps every definition as it was seen first: commit it. A tool that the server defines in another way
   * later asks a person before it is called. Default: what is seen now counts, for this process.
   */
  readonly pins?: string
  /**
   * `stricter` (default): what the server says of its own tools can only make them sensitive. `trusted`: it may also
   * say that a tool only reads, or may be repeated.
   */
  readonly hints?: 'stricter' | 'trusted'
  /** What you say of single tools, by the names that the server has for them. It wins over the server's hints. */
  readonly rules?: { readonly [tool: string]: McpToolRules }
  /** Milliseconds for one attempt of a call, without the time in which people are asked. Default 600,000. */
  readonly timeoutMs?: number
  /** Milliseconds for connecting. Default 30,000. */
  readonly connectMs?: number
  /**
   * How much of a result is recorded and shown to the model, in bytes of JSON. Of a larger one the beginning is, with a
   * note: the tool is done. Of one answer of the server four times as much is read, and at least 16 MiB. Default
   * 1,048,576.
   */
  readonly maxResultBytes?: number
}

/** The tools of a server. `close` ends the connection, and with it a program that was started. */
export interface McpTools extends ReadonlyArray<Tool>, AsyncDisposable {
  close(): Promise<void>
}

const texts = recordOf(
  expects((given) => typeof given === 'string', 'a text'),
  'texts by name',
)
const checks: Checks<McpOptions> = {
  url: expects(
    (given) =>
      given instanceof URL || (typeof given === 'string' && /^https?:$/.test(URL.parse(given)?.protocol ?? '')),
    'an address, such as https://example.com/mcp',
  ),
  headers: texts,
  authProvider: expects((given) => typeof given === 'object' && given !== null, 'an object'),
  command: text,
  args: listOf(
    expects((given) => typeof given === 'string', 'a text'),
    'args',
  ),
  env: texts,
  cwd: text,
  name: text,
  prefix: expects(
    (given) => typeof given === 'string' && /^[A-Za-z_][A-Za-z0-9_-]{0,31}$/.test(given),
    'up to 32 letters, digits, "_" or "-"',
  ),
  only: listOf(text, 'only'),
  pins: text,
  hints: choice('stricter', 'trusted'),
  rules: recordOf(
    object<McpToolRules>({ effect: choice('read', 'idempotent', 'once'), sensitive: flag, repeatable: flag }),
    'rules by the names of tools',
  ),
  timeoutMs: duration,
  connectMs: duration,
  maxResultBytes: expects(
    (given) => Number.isSafeInteger(given) && (given as number) >= 1024,
    'a number of bytes, at least 1,024',
  ),
}
const rule: Rule<McpOptions> = ({ url, command, headers, authProvider, args, env, cwd }, where) => [
  (url === undefined) === (command === undefined) && `${where}: give either url or command`,
  url === undefined && (headers ?? authProvider) !== undefined && `${where}: headers and authProvider belong to url`,
  command === undefined && (args ?? env ?? cwd) !== undefined && `${where}: args, env and cwd belong to command`,
]

/**
 * Connects to an MCP server and resolves to its tools, for `tools:` of an agent: `tools: await mcp({ url })`, or
 * `tools: [mine, ...(await mcp({ command }))]`. Their definitions are pinned. A lost connection is made again by the
 * next call. Needs the optional peer `@modelcontextprotocol/client`.
 *
 * Rejects with `config.invalid` for invalid options; with `server.unreachable`, which is retryable, if the server does
 * not answer; with `tool.invalid` for a tool that cannot be used, or that `only` or `rules` names and the server has
 * not.
 */
export async function mcp(options: McpOptions): Promise<McpTools> {
  mustBeOptions(options, 'mcp', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(checks, options, 'mcp', rule))
  const server = options.name ?? nameOf(options)
  const connection = new McpConnection({
    server,
    transport: transportOf(options),
    connectMs: options.connectMs ?? 30_000,
    maxResultBytes: options.maxResultBytes ?? defaultResultBytes,
  })
  try {
    const seen = await connection.definitions()
    const wanted = wantedAmong(seen, options, server)
    const definitions = await pinned(wanted, options.pins, server)
    const names = toolNames(definitions, options.prefix ?? '')
    const tools = definitions.map((definition, i) => asTool(definition, names[i]!, connection, options))
    const close = (): Promise<void> => connection.close()
    return Object.assign(tools, { close, [Symbol.asyncDispose]: close })
  } catch (thrown) {
    await connection.close()
    throw thrown instanceof FailureError ? asError(thrown) : thrown
  }
}

/** What a step records is thrown at who calls `mcp()`. */
function asError({ failure: { code, message, retryable, hint }, cause }: FailureError): ReeveError {
  return new ReeveError(code, message, { retryable, cause, ...present({ hint }) })
}

const nameOf = ({ url, command = '' }: McpOptions): string =>
  url === undefined ? basename(command) : new URL(url).host

/** How much of a result is kept if nothing is said. Bytes. */
const defaultResultBytes = 1024 * 1024
/** How much of what a program says on its standard error is told where it cannot be used. Characters. */
const longestLast = 1_000

function transportOf({ url, headers = {}, authProvider, command, args = [], env, cwd, ...rest }: McpOptions) {
  const most = readBound(rest.maxResultBytes ?? defaultResultBytes)
  return async (): Promise<MadeTransport> => {
    if (url !== undefined) {
      const { StreamableHTTPClientTransport } = await clientPackage()
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { ...headers } },
        fetch: boundedFetch(most),
        ...(authProvider === undefined ? undefined : { authProvider: authProvider as never }),
      })
      return { transport }
    }
    const { StdioClientTransport, getDefaultEnvironment } = await clientStdioPackage()
    const transport = new StdioClientTransport({
      command: command!,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: 'pipe',
      maxBufferSize: 2 * most,
      ...present({ cwd }),
    })
    boundLines(transport, most)
    let last = ''
    transport.stderr?.on('data', (piece: Buffer) => (last = (last + piece.toString()).slice(-longestLast)))
    return { transport, lastOutput: () => last }
  }
}

/** Lines are bounded before the transport's own buffer, which would end the connection. */
function boundLines(transport: object, most: number): void {
  const { _readBuffer: buffer } = transport as { readonly _readBuffer?: { append?: (piece: Buffer) => void } }
  const append = buffer?.append?.bind(buffer)
  if (buffer === undefined || append === undefined) return // another version: its own bound holds
  const lines = new BoundedLines(most)
  const bounded = (piece: Buffer): void => {
    const whole = lines.take(piece)
    if (whole.length > 0) append(whole)
  }
  Object.assign(buffer, { append: bounded })
}

/** The definitions that are wanted. Throws `tool.invalid` for a name that the server has not. */
function wantedAmong(
  seen: readonly McpDefinition[],
  { only, rules = {} }: McpOptions,
  server: string,
): readonly McpDefinition[] {
  const has = new Set(seen.map(({ name }) => name))
  const missing = [...(only ?? []), ...Object.keys(rules)].filter((name) => !has.has(name))
  refuseProblems(
    'tool.invalid',
    missing.map((name) => `mcp: server "${server}" has no tool ${JSON.stringify(name)}`),
    `It has: ${[...has].slice(0, 50).join(', ')}.`,
  )
  return only === undefined ? seen : seen.filter(({ name }) => only.includes(name))
}

function asTool(
  definition: McpDefinition,
  name: string,
  connection: McpConnection,
  { hints = 'stricter', rules: given = {}, timeoutMs = 600_000 }: McpOptions,
): Tool {
  const rules = toolRules(definition, own(given, definition.name) ?? {}, hints === 'trusted')
  const { outputSchema } = definition
  const output = outputSchema === undefined ? undefined : foreignCheck(outputSchema, `tool "${name}"`)
  const parts = { connection, name, definition, output, effect: rules.effect, timeoutMs }
  return tool({
    name,
    description: shownDescription(definition),
    input: argumentSchema(definition),
    sensitive: rules.sensitive,
    repeatable: rules.repeatable,
    version: `mcp-${definitionDigest(definition).slice(0, 16)}-${rules.effect}`,
    run: (ctx, input) => callOverMcp(ctx, isObject(input) ? input : {}, parts),
  })
}
