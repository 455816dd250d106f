/**
 * The data of a file lies in a store once, however many agents, results, transfers and forks have it.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { withFiles, type FilePart } from '@reeve/core'
import { sequential } from '@reeve/flow'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { dice } from '../dice.ts'
import { calls, store } from '../scenario/team.ts'

const roll = dice(7)
/** A picture of this many bytes that no compression makes smaller. */
const picture = (filename: string, bytes: number): FilePart => ({
  type: 'file',
  mediaType: 'image/png',
  filename,
  data: Buffer.from([
    0x89,
    0x50,
    0x4e,
    0x47,
    0x0d,
    0x0a,
    0x1a,
    0x0a,
    ...Array.from({ length: bytes }, () => Math.floor(roll() * 256)),
  ]).toString('base64'),
})

const count = (text: string, part: string): number => text.split(part).length - 1

test('a small picture and a large one, of a user and of a tool, seen by a leader, three workers, a transfer and a fork', async () => {
  const sent = picture('sent.png', 1_500)
  const drawn = picture('drawn.png', 40_000)
  const seeing = (name: string) =>
    agent({
      name,
      description: 'Works.',
      model: ({ messages }) => `saw ${JSON.stringify(messages).includes(drawn.filename!)}`,
    })
  const lead = supervisor({
    name: 'lead',
    workers: [seeing('x'), seeing('y'), seeing('z')],
    tools: [tool({ name: 'draw', effect: 'read', execute: () => withFiles('drawn', [drawn]) })],
    delegation: { workers: { z: { context: 'conversation', place: 'apart' } } },
    model: ({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length
      const files = ['sent.png', 'drawn.png']
      if (results === 0) return calls(['draw', {}])
      if (results > 1) return 'done'
      return calls(...['x', 'y', 'z'].map((worker) => ['delegate', { worker, instructions: 'look', files }] as const))
    },
  })
  const flow = sequential({ name: 'flow', agents: [lead, seeing('last')] })
  const runtime = await createRuntime({ store: store(), agents: [flow] })
  const run = await runtime.start(flow, 'go', { messages: [{ role: 'user', content: [sent] }] })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'saw true' })
  const events = []
  for await (const { event } of run.events()) events.push(event)
  const at = events.findLastIndex(({ type }) => type === 'model.requested')
  const fork = await runtime.fork({ run: run.id, at })
  expect(await fork.outcome()).toMatchObject({ status: 'completed', output: 'saw true' })
  await runtime.close()

  const bytes = readFileSync(store(), 'latin1')
  // a long text spans pages of the file: any part of it is there once
  for (const { data } of [sent, drawn] as { data: string }[])
    for (const from of [100, 700, 1_300]) expect(count(bytes, data.slice(from, from + 60)), data.slice(0, 20)).toBe(1)
})
