/**
 * Streams at the level of teams: spec collaboration 105, 117, team C101, C102. What is watched, by whom and how slowly,
 * changes nothing.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { rootActivation, type Json } from '@reeve/core'
import { runView, type Recorded } from '@reeve/journal'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, runtimeOf, scripted } from './team.ts'

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })

describe('streams', () => {
  test('collaboration 105: readers who never read block nothing, and the next agent sees the whole text', async () => {
    const long = 'word '.repeat(5_000)
    const w = scripted(({ emit }) => {
      for (let i = 0; i < 5_000; i++) emit?.({ type: 'text.delta', id: '0', text: 'word ' })
      return long
    })
    const seen: Json[] = []
    const boss = supervisor({
      name: 'boss',
      workers: [worker('w', w)],
      model: ({ messages }) => {
        const said = messages.at(-1)
        if (said?.role !== 'tool') return delegates(['w', 'write']) // both runs think with this brain
        seen.push(said.content)
        return 'final'
      },
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const parts = run.parts()
    const events = run.events()
    const owned = runtime.stream(boss, 'please')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(await owned.outcome()).toMatchObject({ output: 'final' })
    expect(seen).toEqual([long, long])
    await Promise.all([parts.return?.(), events.return?.(), owned.return()])
  })

  test('collaboration 117: two calls of one tool at once: each one’s parts and result belong to it', async () => {
    const draw = tool({
      name: 'draw',
      input: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
      execute: (input, io) => {
        const { what } = input as { what: string }
        io.emit({ type: 'drawn', what, callId: io.callId })
        return `a drawing of ${what}`
      },
    })
    const model = scripted(calls(['draw', { what: 'cat' }, 'c1'], ['draw', { what: 'dog' }, 'c2']), 'final')
    const root = agent({ name: 'root', model, tools: [draw] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const shown: [string, string, string][] = []
    for await (const { address, part } of run.parts()) {
      if (part.type !== 'custom') continue
      const { type, what, callId } = part.value as { type: string; what: string; callId: string }
      if (type === 'drawn') shown.push([address, what, callId])
    }
    // side by side, so in either order
    expect(shown.toSorted(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ['turn/call#1/draw', 'dog', 'c2'],
      ['turn/call/draw', 'cat', 'c1'],
    ])
    expect(model.prompts[1]!.slice(-2)).toMatchObject([
      { callId: 'c1', content: 'a drawing of cat' },
      { callId: 'c2', content: 'a drawing of dog' },
    ])
  })

  test('team C101: no gap, one end; a reader that stalled at k sees everything after k', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a'], ['w2', 'b']), delegates(['w1', 'c']), 'final'),
      workers: [worker('w1'), worker('w2')],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const stalled: Recorded[] = []
    for await (const recorded of run.events()) {
      stalled.push(recorded)
      if (stalled.length === 4) break
    }
    await run.outcome()
    const all: Recorded[] = []
    for await (const recorded of run.events()) all.push(recorded)
    const rest: Recorded[] = []
    for await (const recorded of run.events({ from: stalled.at(-1)!.position })) rest.push(recorded)
    expect([...stalled, ...rest]).toEqual(all)
    const seqs = new Map<string, number[]>()
    for (const { activation, seq } of all) seqs.set(activation, [...(seqs.get(activation) ?? []), seq])
    for (const list of seqs.values()) expect(list).toEqual(list.map((_, i) => i))
    expect(
      all.filter(
        ({ event, activation }) => event.type === 'activation.settled' && activation === rootActivation(run.id),
      ),
    ).toHaveLength(1)
    expect(all.at(-1)).toMatchObject({ activation: rootActivation(run.id), event: { type: 'activation.settled' } })
    expect(runView(all).status).toBe('completed')
  })

  test('team C102: a hundred thousand deltas hide no approval and no command', async () => {
    const model = scripted(({ emit }) => {
      for (let i = 0; i < 100_000; i++) emit?.({ type: 'text.delta', id: '0', text: 'x' })
      return calls(['pay', { n: 1 }])
    }, 'final')
    const root = agent({ name: 'root', model, tools: [tool({ name: 'pay', sensitive: true, execute: () => 'paid' })] })
    const runtime = await runtimeOf([root])
    const stream = runtime.stream(root, 'go')
    const types: string[] = []
    let text = 0
    let approvalId = ''
    for await (const item of stream) {
      if (item.type === 'part') text += item.part.part.type === 'text.delta' ? item.part.part.text.length : 0
      else {
        types.push(item.event.event.type)
        if (item.event.event.type !== 'approval.requested') continue
        approvalId = item.event.event.id
        const run = await stream.run
        await run.control.pause({ by: 'ann' })
        await run.control.resume('ann')
        await run.decide({ approvalId, decision: 'approve' })
      }
    }
    expect(text).toBeGreaterThan(0)
    expect(approvalId).not.toBe('')
    for (const type of ['approval.requested', 'run.pausing', 'run.resumed', 'approval.resolved', 'activation.settled'])
      expect(types).toContain(type)
  })
})
