/** What is said of definitions that are wrong, and of a runtime that is given one. */
import { afterEach, expect } from 'vitest'
import { agent, tool, type Agent } from '../src/index.ts'
import { ReeveError, type Json } from '@reeve/core'
import { createRuntime, type RunOutcome, type Runtime } from '@reeve/runtime'

export const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

export async function ended(root: Agent): Promise<RunOutcome> {
  const runtime = await createRuntime({ agents: [root], strict: true })
  open.push(runtime)
  return runtime.run(root as Agent<string, string, Json>, 'go')
}

/** What is said of something that is made, or of a runtime that is given it: the code and the sentences. */
export async function saidOf(
  make: () => unknown,
): Promise<{ readonly code: string; readonly says: readonly string[]; readonly hint: string | undefined }> {
  try {
    const made = make()
    const runtime = await (made instanceof Promise
      ? (made as Promise<Runtime>)
      : createRuntime({ agents: [made as Agent] }))
    open.push(runtime)
  } catch (thrown) {
    if (!ReeveError.is(thrown)) throw thrown
    return { code: thrown.code, says: thrown.message.split('\n'), hint: thrown.hint }
  }
  throw new Error('nothing was refused')
}
export type Wrong = readonly [what: string, make: () => unknown, code: string, says: string | RegExp]
/** This sentence is among what is said, under this code. */
export const refusal = (code: string, says: string | RegExp): object => ({
  code,
  says: expect.arrayContaining([typeof says === 'string' ? says : expect.stringMatching(says)]) as string[],
})

export const one = agent({ name: 'one', description: 'Is one.', model: () => 'one' })
export const model = (): string => 'x'
export const workers = [one]
export const plain = { name: 'a', model }
/** Options as somebody without a compiler gives them. */
export const any = (options: unknown): never => options as never
export const del = tool({ name: 'del', execute: () => 1 })
