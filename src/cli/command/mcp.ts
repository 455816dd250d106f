/**
 * `reeve mcp`: the runs of a store for one MCP client, on standard input and output.
 *
 * Owns: who the client acts as, that nothing else is written to standard output. Does not own: the protocol and its
 * tools (adapters/mcp), where runs are found (store.ts).
 * Holds: a client decides and answers only where `--decide` says so, because what calls the tools is a model.
 */
import { Console } from 'node:console'
import { serveMcpStdio } from '../../adapters/mcp/index.ts'
import { present } from '../../core/index.ts'
import { localContext, type Role } from '../../server/index.ts'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { openRuntime, servedRuns } from '../store.ts'

/** The options of `mcp`. */
export interface McpCommandOptions {
  readonly decide?: boolean
  readonly agents?: string
}

/** Serves until the client leaves, or until Ctrl-C or SIGTERM. */
export async function mcp(command: CommandContext, given: McpCommandOptions): Promise<Exit> {
  const { options, cwd, interrupted } = command
  // what agents print must not come between the messages
  globalThis.console = new Console(process.stderr)
  const { config, place } = await servedRuns(options, cwd)
  await using runtime = await openRuntime(place, config === undefined ? { drive: false } : {})
  await using _end = orderlyEnd(runtime, command)
  const roles: readonly Role[] = given.decide === true ? ['operator', 'approver'] : ['operator']
  const context = localContext({ runtime, principal: { name: currentUser(), roles }, signal: interrupted })
  const agents = given.agents?.split(',').map((name) => name.trim())
  await serveMcpStdio(context, present({ agents }))
  return interrupted.aborted && interrupted.reason !== 'SIGTERM' ? exits.interrupted : exits.done
}
