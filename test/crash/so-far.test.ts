/** A reader of text in the process that takes a run over in mid-text: the text of the call that is made again (K9). */
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { textOf } from '../../packages/runtime/src/feed/run-text.ts'
import type { EmbeddedEngine } from '@reeve/sqlite'
import { inFolder, launch, open, registry, step } from './hand.ts'

async function read(engine: EmbeddedEngine, run: string): Promise<string> {
  let all = ''
  for await (const piece of textOf(engine, run as RunId)) all += piece
  return all
}

test('killed with kill -9 in mid-text: readers in the other process have the text of its call, once, early and late', async () => {
  const file = inFolder()
  const { child, line, gone } = launch('speak', file)
  await line('speaking')
  const [spoken, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const engine = open(file, { leaseMs: 3_600_000 })
  engine.drive(
    registry({
      speaker: (ctx) =>
        step(ctx, 'say', async ({ emit }) => {
          emit({ type: 'text.delta', id: '0', text: 'new ' })
          spoken.resolve()
          await rest.promise
          emit({ type: 'text.delta', id: '0', text: 'end' })
          return 'new end'
        }),
    }),
  )
  const early = read(engine, 'spoken')
  child.kill('SIGKILL')
  await gone
  await spoken.promise
  const late = read(engine, 'spoken')
  rest.resolve()
  expect([await early, await late, await read(engine, 'spoken')]).toEqual(['new end', 'new end', 'new end'])
}, 20_000)
