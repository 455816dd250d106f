/** Agents that ask outside, and what a person sees of their questions. */
import { expect } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Question } from '@reeve/engine'
import { interrupt } from '@reeve/oversight'
import type { Run, Runtime } from '@reeve/runtime'
import { scripted, type Scripted } from './team.ts'

/** An agent that thinks with a model, and whatever else it is told. */
export const modelAgent = (name: string, model: Scripted = scripted(`${name} answers`), more: object = {}): Agent =>
  agent({ name, description: `Does what ${name} does.`, model, ...more })

/** Code that asks once and says what it was told. */
export const asker = (name: string): Agent =>
  agent({
    name,
    description: `Asks for ${name}.`,
    run: async (ctx) => `${name} heard ${(await interrupt(ctx, `${name}?`)) as string}`,
  })

/** A tool that asks, and whose result is the answer. */
export const askTool = (name = 'ask') =>
  tool({ name, run: async (ctx, input) => interrupt(ctx, { please: (input as { what?: Json }).what ?? name }) })

/** Everything that is open, when so much is and nothing else goes on; in the order of the words. */
export async function open(
  runtime: Runtime,
  run: { readonly id: string },
  count: number,
): Promise<readonly Question[]> {
  await expect.poll(async () => (await runtime.questions({ run: run.id })).length, { timeout: 10_000 }).toBe(count)
  await runtime.handle(run.id).until('waiting')
  const text = ({ body }: Question): string => JSON.stringify((body as { question?: Json }).question ?? body)
  return (await runtime.questions({ run: run.id })).toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
}

/** Where somebody asks. */
export const pathOf = ({ body }: Question): string =>
  (body as unknown as { readonly path: readonly string[] }).path.join('/')

export const answer = (run: Run | Run<unknown>, { id }: Question, value: Json): Promise<void> =>
  run.answer({ interruptId: id, value })
