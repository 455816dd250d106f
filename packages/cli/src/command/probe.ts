/**
 * `reeve probe`: asks a probe of a process of Reeve and exits with its answer, where an image has no `curl`.
 *
 * Owns: the exit code. Does not own: what the process answers (server/readiness.ts).
 */
import { messageOf, visible } from '@reeve/core'
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'

/** The probe of a server on its default port. */
export const defaultProbe = 'http://127.0.0.1:4040/api/ready'
/** An answer that comes later is none. Milliseconds. */
const withinMs = 3_000

/** 0: it said yes. 1: it said no, or nothing. */
export async function probe({ terminal, interrupted }: CommandContext, address: string): Promise<Exit> {
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    throw usage(`${JSON.stringify(visible(address))} is not an address`, `Name one, such as ${defaultProbe}`)
  try {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(withinMs)])
    const response = await fetch(address, { signal, redirect: 'manual' })
    terminal.line(`${response.status} ${visible((await response.text()).slice(0, 200))}`)
    return response.ok ? exits.done : exits.failed
  } catch (thrown) {
    const { cause } = thrown as Error
    terminal.note(`${visible(address)} does not answer: ${messageOf(cause ?? thrown)}`)
    return exits.failed
  }
}
