/** What the tests of live text share: models that speak by a script, and readers of what they said. */
import type { ModelFunction } from '@reeve/model'
import type { PartsOptions, Run, RunPart } from '../src/index.ts'

export interface Piece {
  readonly type: 'text.delta' | 'reasoning.delta'
  readonly id: string
  readonly text: string
}
export const text = (of: string, id = '0'): Piece => ({ type: 'text.delta', id, text: of })
export const thought = (of: string): Piece => ({ type: 'reasoning.delta', id: 'r', text: of })

/** A place in a script where the model waits until the test lets it go on. */
export interface Stop {
  readonly reached: Promise<void>
  readonly goOn: () => void
  readonly pass: () => Promise<void>
}
export function stop(): Stop {
  const [reached, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  return {
    reached: reached.promise,
    goOn: () => left.resolve(),
    pass: () => {
      reached.resolve()
      return left.promise
    },
  }
}

export const model =
  (script: readonly (Piece | Stop)[], answer: string): ModelFunction =>
  async ({ emit }) => {
    for (const each of script) {
      if ('pass' in each) await each.pass()
      else emit?.({ ...each })
    }
    return answer
  }

export async function textOf(run: Run, options?: PartsOptions): Promise<string> {
  let all = ''
  for await (const piece of run.text(options)) all += piece
  return all
}

/** The deltas that a reader of parts has, each with its offset. */
export const lineOf = ({ part, offset, attempt }: RunPart): string[] =>
  'text' in part && 'id' in part ? [`${attempt} ${part.type} ${part.id} ${offset} ${JSON.stringify(part.text)}`] : []

export async function partsOf(run: Run, options?: PartsOptions): Promise<string[]> {
  const lines: string[] = []
  for await (const part of run.parts(options)) lines.push(...lineOf(part))
  return lines
}
