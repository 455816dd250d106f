/**
 * The preview of a call: what it would change, shown to the approver. Spec team R-16; K1: recorded once, with the
 * request; a journal from before the option goes on as it began.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import type { ModelAnswerInput } from '@reeve/model'
import { calls, fatal, runtimeOf, scripted, store, waiting } from './team.ts'

const files = new Map<string, string>()
const schema = {
  type: 'object',
  properties: { path: { type: 'string' }, text: { type: 'string', minLength: 2 } },
  required: ['path', 'text'],
} as const
type Writing = { readonly path: string; readonly text: string }

/** An agent that writes a file, after an approval. */
const writer = (preview?: (input: Writing) => Json): Agent => {
  const write = tool({
    name: 'write',
    input: schema,
    approval: { risk: 'low', ...(preview === undefined ? undefined : { preview: preview as never }) },
    execute: ({ path, text }: Writing) => (files.set(path, text), 'written'),
  } as never)
  return agent({
    name: 'writer',
    description: 'Writes.',
    tools: [write] as never,
    model: scripted(({ messages }): ModelAnswerInput | string => {
      const last = messages.at(-1)!
      return last.role === 'tool' ? asText(last.content) : calls(['write', { path: 'a.txt', text: 'new text' }])
    }),
  })
}
const difference = ({ path, text }: Writing): Json => ({ before: files.get(path) ?? '', after: text })

describe('a preview', () => {
  test('is made of the exact arguments and shown with the request, and again for edited ones that do not fit', async () => {
    files.set('a.txt', 'old text')
    const seen: Json[] = []
    const runtime = await runtimeOf([writer((input) => (seen.push({ ...input }), difference(input)))])
    const run = await runtime.start('writer', 'go')
    const [asked] = (await waiting(run)).waiting
    expect(asked!.context).toEqual({ preview: { before: 'old text', after: 'new text' } })
    await run.decide({ approvalId: asked!.id, decision: 'edit', input: { path: 'a.txt', text: 'x' }, approver: 'eve' })
    await expect.poll(async () => (await waiting(run)).waiting[0]?.id).not.toBe(asked!.id)
    const [again] = (await waiting(run)).waiting
    expect(again).toMatchObject({ input: { text: 'new text' }, context: { preview: { after: 'new text' } } })
    await run.decide({ approvalId: again!.id, decision: 'approve', approver: 'eve' })
    expect(await run.outcome()).toMatchObject({ output: 'written' })
    expect(seen).toEqual([
      { path: 'a.txt', text: 'new text' },
      { path: 'a.txt', text: 'new text' },
    ])
  })

  test('that fails or is too large is said to be missing; the approver is asked all the same', async () => {
    const contextOf = async (preview: () => Json): Promise<Json | undefined> => {
      const run = await (await runtimeOf([writer(preview)])).start('writer', 'go')
      return (await waiting(run)).waiting[0]?.context
    }
    const failing = (): never => {
      throw fatal('the disk is away')
    }
    expect(await contextOf(failing)).toEqual({
      preview: expect.stringMatching(/^the preview of "write" is missing: .*the disk is away/) as string,
    })
    expect(await contextOf(() => 'x'.repeat(300_000))).toEqual({
      preview: 'the preview is left out: 300002 characters, at most 262144',
    })
  })

  test('K1: is not made again after a restart, and is kept where the option has gone', async () => {
    files.set('a.txt', 'old text')
    const file = store()
    let made = 0
    const before = await runtimeOf([writer((input) => (made++, difference(input)))], { store: file })
    const id = (await before.start('writer', 'go')).id
    await waiting(before.handle(id))
    await before.close()
    files.set('a.txt', 'changed since')
    const after = await runtimeOf([writer()], { store: file })
    const [asked] = (await waiting(after.handle(id))).waiting
    expect(asked!.context).toEqual({ preview: { before: 'old text', after: 'new text' } })
    await after.decide({ approvalId: asked!.id, decision: 'approve', approver: 'eve' })
    expect(await after.handle(id).outcome()).toMatchObject({ output: 'written' })
    expect(made).toBe(1)
  })

  test('K1: a request that was recorded without one goes on without it', async () => {
    const file = store()
    const before = await runtimeOf([writer()], { store: file })
    const id = (await before.start('writer', 'go')).id
    await waiting(before.handle(id))
    await before.close()
    let made = 0
    const after = await runtimeOf([writer((input) => (made++, difference(input)))], { store: file })
    const [asked] = (await waiting(after.handle(id))).waiting
    expect(asked).not.toHaveProperty('context')
    await after.decide({ approvalId: asked!.id, decision: 'approve', approver: 'eve' })
    expect(await after.handle(id).outcome()).toMatchObject({ output: 'written' })
    expect(made).toBe(0)
  })
})
