/**
 * `reeve mcp`: the runs of a store for one MCP client, on standard input and output.
 *
 * Owns: who the client acts as. Does not own: the protocol and its tools (mcp), where runs are found (store.ts),
 * that nothing else reaches standard output (protocol-output.ts).
 * Holds: a client decides and answers only where `--decide` says so, because what calls the tools is a model.
 */
import { Console } from 'node:console'
import { serveMcpStdio } from '@reeve/mcp'
import { present } from '@reeve/core'
import { localContext, type Role } from '@reeve/server'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { apart, protocolOutput } from '../protocol-output.ts'
import { openRuntime, servedRuns } from '../store.ts'

/** The options of `mcp`. */
export interface McpCommandOptions {
  readonly decide?: boolean
  readonly agents?: string
}

/** Serves until the client leaves, or until Ctrl-C or SIGTERM. */
export async function mcp(context: CommandContext, given: McpCommandOptions): Promise<Exit> {
  const { options, cwd, interrupted, self } = context
  const output = protocolOutput()
  if (output === undefined && self !== undefined) return apart(self, context)
  // in one place with what agents write otherwise
  globalThis.console = new Console(process.stderr)
  const { config, place } = await servedRuns(options, cwd)
  await using runtime = await openRuntime(place, config === undefined ? { drive: false } : {})
  await using _end = orderlyEnd(runtime, context)
  const roles: readonly Role[] = given.decide === true ? ['operator', 'approver'] : ['operator']
  const caller = localContext({ runtime, principal: { name: currentUser(), roles }, signal: interrupted })
  const agents = given.agents?.split(',').map((name) => name.trim())
  await serveMcpStdio(caller, present({ agents, output }))
  await new Promise<void>((resolve) => (output === undefined ? resolve() : output.end(resolve)))
  return interrupted.aborted && interrupted.reason !== 'SIGTERM' ? exits.interrupted : exits.done
}
