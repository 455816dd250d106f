/**
 * `reeve dev`: runs the config of a project with the studio, and again after each change of its code.
 *
 * Owns: the process that runs it, its port and token over restarts, what is said of a change. Does not own: the server
 * and the studio (serve.ts: the process is a `reeve studio`), which changes count (code-watch.ts).
 * Holds: one process at a time, which is told to stop before the next one starts, so runs are parked and go on in the
 * next. It is a process group of its own: Ctrl-C at the terminal reaches it once, through this process.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { visible } from '@reeve/core'
import { isTeamFolder } from '@reeve/runtime/folder'
import { CodeWatch } from '../code-watch.ts'
import { aborted, type CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import type { ServerNews } from '../loaded-files.ts'
import { agentsFolder, configHere } from '../store.ts'
import { mustHaveStudio, type ServeOptions } from './serve.ts'

const preload = new URL(`../loaded-files${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href

/** Runs until Ctrl-C or SIGTERM. */
export async function dev(context: CommandContext, options: Pick<ServeOptions, 'port' | 'tokenFile'>): Promise<Exit> {
  const { terminal, cwd, interrupted } = context
  const { store, config = configHere(cwd) } = context.options
  const file = resolve(cwd, config)
  if (!existsSync(file))
    throw usage(
      `config not found: ${visible(file)}`,
      `Name one with --config <file>, put agents into ${agentsFolder}/, or write a project: ${reeve} init`,
    )
  mustHaveStudio()
  // one token for all of its processes: a browser stays signed in
  const secrets = options.tokenFile === undefined ? mkdtempSync(join(tmpdir(), 'reeve-dev-')) : undefined
  const tokenFile = options.tokenFile ?? join(secrets!, 'token')
  let { port } = options
  using watch = new CodeWatch(dirname(file))
  // a file may become an agent that no one has read before
  watch.addTree(isTeamFolder(file) ? file : join(dirname(file), agentsFolder))
  try {
    for (;;) {
      const changed = watch.next()
      watch.anyCode = false
      let lastRead = file
      const args = [
        `--config=${config}`,
        ...(store === undefined ? [] : [`--store=${store}`]),
        'studio',
        '--no-open',
        `--token-file=${tokenFile}`,
        ...(port === undefined ? [] : [`--port=${port}`]),
      ]
      const server = started(args, cwd, (news) => {
        if ('port' in news) {
          port = news.port
          // its own token file is nothing that could be looked into: what has no terminal is told the address here
          if (secrets !== undefined && !terminal.isLive)
            terminal.line(`  studio http://127.0.0.1:${port}/#token=${readFileSync(tokenFile, 'utf8').trim()}`)
        } else watch.add((lastRead = news.loaded))
      })
      const ended = endOf(server)
      let next: string | ServerEnd = await Promise.race([changed, ended, stopped(interrupted)])
      if (isEnd(next) && !interrupted.aborted) {
        watch.anyCode = true
        terminal.note(
          `${terminal.style('yellow', 'reeve dev:')} it has ended (${next.end}); the last file that it read is ${visible(relative(cwd, lastRead))}. Waiting for a change.`,
        )
        next = await Promise.race([changed, stopped(interrupted)])
      }
      if (server.exitCode === null && server.signalCode === null) server.kill('SIGTERM')
      await ended
      if (interrupted.aborted || isEnd(next)) return interrupted.reason === 'SIGTERM' ? exits.done : exits.interrupted
      terminal.line(`${terminal.style('bold', 'reeve dev')}  ${visible(relative(cwd, next))} has changed`)
    }
  } finally {
    if (secrets !== undefined) rmSync(secrets, { recursive: true, force: true })
  }
}

interface ServerEnd {
  readonly end: string
}
const isEnd = (next: string | ServerEnd): next is ServerEnd => typeof next === 'object'

const stopped = async (interrupted: AbortSignal): Promise<ServerEnd> => ({ end: await aborted(interrupted) })

function started(args: readonly string[], cwd: string, hear: (news: ServerNews) => void): ChildProcess {
  const child = fork(process.argv[1]!, args, {
    cwd,
    execArgv: [...process.execArgv, '--import', preload],
    // on Windows a group of its own is a window of its own
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  child.on('message', (news) => hear(news as ServerNews))
  return child
}

const endOf = (child: ChildProcess): Promise<ServerEnd> =>
  new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ end: message }))
    child.once('exit', (code, signal) => resolve({ end: signal ?? `exit code ${code}` }))
  })
