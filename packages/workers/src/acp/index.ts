/**
 * `reeve/acp`: a coding agent's command line, through the Agent Client Protocol (ACP v1), as an agent of Reeve. Needs no
 * package: the protocol is JSON in lines.
 *
 * Owns: what a segment is: a session is opened; a prompt runs to its end or to a request. Does not own: segments,
 * approvals and questions (../external-agent), the wire (child.ts, session.ts).
 * Holds: the id of the session is recorded before it is prompted. A process waits for an answer in memory, and a new one
 * loads the session if it is gone.
 */
import { isAbsolute } from 'node:path'
import type { Agent } from '@reeve/agent'
import { ReeveError, timerMs, type FilePart, type Json } from '@reeve/core'
import type { StepIO } from '@reeve/engine'
import {
  externalAgent,
  withSentFiles,
  type WorkSegment,
  type ExternalAgentOptions,
  type ExternalReply,
} from '../external-agent/index.ts'
import { contentOf, failed, Session } from './session.ts'

export interface AcpAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** The program that speaks ACP over its standard input and output. Started without a shell. */
  readonly command: string
  readonly args?: readonly string[]
  /** The folder that it works in. An absolute path. */
  readonly cwd: string
  /**
   * Its whole environment: a value, or `true` for the value in this process. Default: `PATH` and `HOME`. Nothing else of
   * this process is passed on.
   */
  readonly env?: { readonly [name: string]: string | true }
  /** MCP servers for its sessions, as ACP has them. Default: none. */
  readonly mcpServers?: readonly Json[]
  /** How long a process is kept while its request waits for a person, in milliseconds. Default 600,000. */
  readonly keepAliveMs?: number
}

/** What is kept between segments: the session, its prompt, and what was asked. */
interface SessionState {
  readonly session: string
  readonly prompt: string
  readonly asked?: readonly string[]
}

/**
 * A coding agent's command line as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | approvals | its permission requests, with the call as it was told (title, kind, raw input, differences); an approval allows it once, never always; one that was edited is rejected. A call that changes while a person looks is asked about again |
 * | questions | its forms (elicitation); the answer is the form, or the value of its one field |
 * | files | those of its conversation are sent with the prompt, as its `promptCapabilities` say; the others are named |
 * | text | its messages, live; the output is what it says after its last tool |
 * | cancel, time limit | the process is killed with its children |
 * | environment | the folder and the variables that it is given; no file access and no terminal through Reeve: it works on the folder itself |
 * | after a crash | its session is loaded or resumed, if it offers that; an answer that was given meanwhile holds for the same request. If it does not: a prompt in flight begins again, and work that waited for an answer fails |
 * | not honoured | reasons of a rejection, usage, permissions and budgets: the protocol has none of them |
 *
 * It acts on the folder, so `effect` is `once` by default: a prompt in flight is in doubt after a crash. With
 * `idempotent` it goes on by itself. Throws `agent.invalid` for invalid options.
 */
export function acpAgent<const Name extends string>(options: AcpAgentOptions<Name>): Agent<Name, unknown, Json> {
  const {
    command,
    args = [],
    cwd,
    env = { PATH: true, HOME: true },
    mcpServers = [],
    keepAliveMs = 600_000,
    ...facts
  } = options
  if (typeof command !== 'string' || command === '')
    throw new ReeveError('agent.invalid', `agent "${facts.name}": command is missing`)
  if (typeof cwd !== 'string' || !isAbsolute(cwd))
    throw new ReeveError(
      'agent.invalid',
      `agent "${facts.name}": cwd is ${JSON.stringify(cwd)}, expected an absolute path`,
    )
  /** Sessions of this process, by the work that they belong to. */
  const sessions = new Map<string, { readonly session: Session; sleep?: NodeJS.Timeout }>()
  const started = async (io: StepIO): Promise<Session> => {
    const session = new Session({ command, args, cwd, env: variables(env) })
    await orClosed(session, io, session.initialize())
    return session
  }
  const keep = (place: string, session: Session): void => {
    const sleep = setTimeout(() => void end(place), timerMs(keepAliveMs)).unref()
    sessions.set(place, { session, sleep })
  }
  const awake = (place: string): Session | undefined => {
    const kept = sessions.get(place)
    clearTimeout(kept?.sleep)
    sessions.delete(place)
    kept?.session.throwIfRefused()
    return kept?.session.isOver === false ? kept.session : undefined
  }
  const end = async (place: string): Promise<void> => {
    const kept = sessions.get(place)
    clearTimeout(kept?.sleep)
    sessions.delete(place)
    await kept?.session.close()
  }

  /** The session to go on with: that of this process, or one that is loaded, or a new one where nothing was done yet. */
  const found = async (kept: SessionState, io: StepIO, place: string, files: readonly FilePart[]): Promise<Session> => {
    const begin = (session: Session): void => {
      session.prompt(kept.prompt, io.key, sentTo(session, kept.prompt, files).sent)
    }
    const live = awake(place)
    if (live !== undefined) {
      if (!live.hasPrompted) begin(live)
      return live
    }
    const session = await started(io)
    if (session.canLoad) {
      const begun = await orClosed(session, io, session.load(kept.session, cwd, mcpServers))
      if (begun) session.prompt(`Go on with this where it was left: ${kept.prompt}`, io.key)
      else begin(session)
    } else if (kept.asked === undefined) {
      await orClosed(session, io, session.open(cwd, mcpServers))
      begin(session)
    } else {
      await session.close()
      throw failed('the coding agent ended while it waited for an answer, and cannot load its session')
    }
    return session
  }
  return externalAgent(facts, {
    effect: 'once',
    beginEffect: 'idempotent',
    takesFiles: true,
    async begin(prompt, io, place, files) {
      const session = await started(io)
      await orClosed(session, io, session.open(cwd, mcpServers))
      keep(place, session)
      const { text } = sentTo(session, prompt, files)
      return { status: 'on', state: { session: session.id, prompt: text } satisfies SessionState }
    },
    async proceed(state, replies, io, place, files) {
      const kept = state as unknown as SessionState
      const session = await found(kept, io, place, files)
      session.reply(withContent(replies, kept.asked ?? []))
      const progress = await orClosed(
        session,
        io,
        session.progress((text) => io.emit({ type: 'text.delta', text }), io.signal),
      )
      if ('ended' in progress) {
        await session.close()
        return endOf(progress.ended, session.answer)
      }
      keep(place, session)
      const { asks } = progress
      return { status: 'asks', state: { session: session.id, prompt: kept.prompt, asked: asks.map(contentOf) }, asks }
    },
    async abandon(_state, _io, place) {
      await end(place)
      return null
    },
  })
}

/** A prompt with the files that the session takes. */
const sentTo = (session: Session, prompt: string, files: readonly FilePart[]): ReturnType<typeof withSentFiles> =>
  withSentFiles(prompt, files, session.takes, 'the coding agent does not take this type')

/** The replies with what they reply to, which comes in the same order. */
const withContent = (
  replies: readonly ExternalReply[],
  asked: readonly string[],
): readonly { readonly content: string; readonly reply: ExternalReply }[] =>
  replies.map((reply, at) => ({ content: asked[at] ?? '', reply }))

/** Waits for a session; one that fails, or whose work is stopped, is closed. */
async function orClosed<T>(session: Session, { signal }: StepIO, work: Promise<T>): Promise<T> {
  const stopped = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  stopped.catch(() => {})
  try {
    return await Promise.race([work, stopped])
  } catch (thrown) {
    await session.close()
    throw thrown
  }
}

function endOf(reason: string, text: string): WorkSegment {
  if (reason === 'end_turn') return { status: 'done', output: text }
  const why = {
    refusal: 'the coding agent refused to go on',
    max_tokens: 'the coding agent has reached its limit of tokens',
    max_turn_requests: 'the coding agent has reached its limit of turns',
    cancelled: 'the coding agent was cancelled',
  }[reason]
  throw failed(why ?? `the coding agent stopped for an unknown reason: ${JSON.stringify(reason)}`)
}

/** The environment of the process: the given names, and nothing else. */
const variables = (env: NonNullable<AcpAgentOptions['env']>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const given = value === true ? process.env[name] : value
      return given === undefined ? [] : [[name, given]]
    }),
  )
