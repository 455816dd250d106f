/** What a run was asked, without what else crosses to its root. Owns: reading that, and nothing else. */
import { briefText, readEdge } from '@reeve/edge'
import { asText } from '@reeve/core'
import { isEdge } from '@reeve/journal'
import type { Run } from '@reeve/runtime'

/** The text that a run was started with. Rejects with `run.unknown`. */
export async function runInput(run: Run): Promise<string> {
  const [first] = await run.journal({ limit: 1 })
  if (first?.event.type !== 'activation.started') return ''
  const { input } = first.event
  return isEdge(input) ? briefText(readEdge(input).work.brief) : asText(input)
}
