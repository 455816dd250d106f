/**
 * Memory of workers: isolated by default, continued on request, locked, pluggable; and what a session keeps of
 * feedback.
 */
import { describe, expect, test } from 'vitest'
import { agent, step, type Agent } from '@reeve/agent'
import { asText } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import type { SessionMemory, SessionTurn } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import type { Memory, MemoryExchange, MemoryQuery, ThreadMemory } from '@reeve/supervisor'
import { code, user, withoutSystem } from './control.ts'
import { delegates, eventsOf, fatal, runtimeOf, scripted, store, told, waiting, type Scripted } from './team.ts'

const worker = (name: string, model: Scripted): Agent =>
  agent({ name, description: `Does what ${name} does.`, instructions: 'work', model })
const assistant = (content: string) => ({ role: 'assistant', content })
/** A leader that delegates each of these in a turn of its own, and then answers. */
const leads = (...briefs: readonly (readonly [worker: string, brief: string])[]): Scripted =>
  scripted(...briefs.map(([name, brief]) => delegates([name, brief])), 'done')

describe('isolated by default', () => {
  test('delegation 51: two delegations to one worker are two activations; the session holds no worker message', async () => {
    const w = scripted('out-1', 'out-2', 'out-3')
    const lead = scripted(delegates(['w', 'do 1']), delegates(['w', 'do 2']), 'first', 'second')
    const runtime = await runtimeOf([supervisor({ name: 'lead', model: lead, workers: [worker('w', w)] })])
    const run = await runtime.start('lead', 'go', { session: 's', user: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'first' })
    expect(w.prompts.map(withoutSystem)).toEqual([[user('do 1')], [user('do 2')]])
    const workers = (await run.view()).activations.filter(({ agent: name }) => name === 'w')
    expect(new Set(workers.map(({ activation }) => activation)).size).toBe(2)
    await runtime.run('lead', 'more', { session: 's', user: 'ann' })
    expect(withoutSystem(lead.prompts.at(-1))).toEqual([user('go'), assistant('first'), user('more')])
  })

  test('delegation 54: "continue" shows the second delegation the first exchange; without it, it does not', async () => {
    for (const memory of ['isolated', 'continue'] as const) {
      const w = scripted('out-1', 'out-2')
      const root = supervisor({
        name: 'lead',
        model: leads(['w', 'do 1'], ['w', 'do 2']),
        workers: [worker('w', w)],
        delegation: { workers: { w: { memory } } },
      })
      expect(await (await runtimeOf([root])).run(root, 'go')).toMatchObject({ output: 'done' })
      const before = memory === 'continue' ? [user('do 1'), assistant('out-1')] : []
      expect(withoutSystem(w.prompts[1])).toEqual([...before, user('do 2')])
    }
  })
})

describe('a worker that continues', () => {
  const team = (model: Scripted, w: Scripted, memory: 'continue' | ThreadMemory = 'continue') =>
    supervisor({ name: 'lead', model, workers: [worker('w', w)], delegation: { memory } })

  test('over runs of a session, also after the runs are removed; another session begins anew', async () => {
    const w = scripted('a', 'b', 'c')
    const root = team(scripted(...[1, 2, 3].flatMap((n) => [delegates(['w', `do ${n}`]), 'done'])), w)
    const runtime = await runtimeOf([root])
    const first = await runtime.start(root, 'go', { session: 's' })
    await first.outcome()
    await runtime.remove(first.id)
    await runtime.run(root, 'go', { session: 's' })
    expect(withoutSystem(w.prompts[1])).toEqual([user('do 1'), assistant('a'), user('do 2')])
    await runtime.run(root, 'go', { session: 'other' })
    expect(withoutSystem(w.prompts[2])).toEqual([user('do 3')])
  })

  test('only what completed is remembered, and what crosses besides comes after it', async () => {
    const w = scripted('a', fatal('no'), 'c')
    const root = supervisor({
      name: 'lead',
      model: leads(['w', 'do 1'], ['w', 'do 2'], ['w', 'do 3']),
      workers: [worker('w', w)],
      delegation: {
        workers: { w: { memory: 'continue', context: ({ worker: name }) => [{ role: 'user', text: `for ${name}` }] } },
      },
    })
    await (await runtimeOf([root])).run(root, 'go')
    expect(withoutSystem(w.prompts[2])).toEqual([user('do 1'), assistant('a'), user('for w'), user('do 3')])
  })

  test('is shown the newest, as many as were asked for', async () => {
    const w = scripted('a', 'b', 'c', 'd')
    const root = team(leads(['w', '1'], ['w', '2'], ['w', '3'], ['w', '4']), w, { shown: 2 })
    await (await runtimeOf([root])).run(root, 'go')
    expect(withoutSystem(w.prompts[3])).toEqual([user('2'), assistant('b'), user('3'), assistant('c'), user('4')])
  })

  test('delegation 52: shared by two leaders: a transcript each; a pinned thread is one for all who name it', async () => {
    for (const memory of ['continue', { thread: 'archive' }] as const) {
      const w = scripted('a', 'b', 'c')
      const shared = worker('w', w)
      const leader = (name: string, ...briefs: string[]): Agent =>
        supervisor({
          name,
          description: 'Leads.',
          model: leads(...briefs.map((brief) => ['w', brief] as const)),
          workers: [shared],
          delegation: { memory },
        })
      const root = supervisor({
        name: 'top',
        model: leads(['A', 'x'], ['B', 'y']),
        workers: [leader('A', 'a 1', 'a 2'), leader('B', 'b 1')],
      })
      await (await runtimeOf([root])).run(root, 'go')
      const own = [user('a 1'), assistant('a'), user('a 2')]
      expect(w.prompts.map(withoutSystem)).toEqual([
        [user('a 1')],
        own,
        memory === 'continue' ? [user('b 1')] : [...own, assistant('b'), user('b 1')],
      ])
    }
  })

  test('delegation 55: two users never read each other', async () => {
    const w = scripted('a', 'b', 'c')
    const root = team(
      scripted((request) => (request.messages.at(-1)!.role === 'tool' ? 'done' : delegates(['w', 'do']))),
      w,
      { thread: 'shared' },
    )
    const runtime = await runtimeOf([root])
    await runtime.run(root, 'go', { session: 's', user: 'ann' })
    await runtime.sessions.share({ session: 's', with: ['bob'] })
    await runtime.run(root, 'go', { session: 's', user: 'bob' })
    expect(w.prompts.map(withoutSystem)).toEqual([[user('do')], [user('do')]])
    await runtime.run(root, 'go', { session: 's', user: 'ann' })
    expect(withoutSystem(w.prompts[2])).toHaveLength(3)
  })
})

/** Says when it works; asks before it answers. */
const asks = (name: string, log: string[]): Agent =>
  code(name, async (ctx, brief) => {
    await step(ctx, 'begins', () => log.push(`${name} begins ${brief}`))
    const answer = await interrupt(ctx, `${name} ${brief}?`)
    await step(ctx, 'ends', () => log.push(`${name} ends ${brief}`))
    return `${brief}: ${asText(answer)}`
  })

describe('one thread at a time', () => {
  test('calls to one thread come one after the other, in their order; other threads go on beside it', async () => {
    const log: string[] = []
    const root = supervisor({
      name: 'lead',
      model: scripted(delegates(['w', '1'], ['w', '2'], ['v', '3']), 'done'),
      workers: [asks('w', log), asks('v', log)],
      delegation: { memory: 'continue' },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const asked = async (): Promise<readonly string[]> =>
      (await runtime.questions({ run: run.id }))
        .map(({ body }) => asText((body as { question: string }).question))
        .sort()
    const answered = async (value: string): Promise<void> => {
      for (const { id } of await runtime.questions({ run: run.id })) await run.answer({ interruptId: id, value })
    }
    await expect.poll(asked).toEqual(['v 3?', 'w 1?'])
    // which of two threads begins first is nobody's promise
    expect(log.toSorted()).toEqual(['v begins 3', 'w begins 1'])
    await answered('yes')
    await expect.poll(asked).toEqual(['w 2?'])
    await answered('no')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect(log.filter((line) => line.startsWith('w'))).toEqual(['w begins 1', 'w ends 1', 'w begins 2', 'w ends 2'])
  })

  test('also between leaders that work side by side, and over a restart', async () => {
    const log: string[] = []
    const w = asks('w', log)
    const leader = (name: string): Agent =>
      supervisor({
        name,
        description: 'Leads.',
        model: leads(['w', name]),
        workers: [w],
        delegation: { memory: { thread: 't' } },
      })
    const root = supervisor({
      name: 'top',
      model: scripted(delegates(['A', 'x'], ['B', 'y']), 'done'),
      workers: [leader('A'), leader('B')],
    })
    const file = store()
    const before = await runtimeOf([root], { store: file })
    const run = await before.start(root, 'go', { session: 's', runId: 'r' })
    await waiting(run)
    await before.close()
    const runtime = await runtimeOf([root], { store: file })
    const again = runtime.handle('r')
    for (let i = 0; i < 2; i++) {
      const { questions } = await waiting(again)
      expect(questions).toHaveLength(1)
      await again.answer({ interruptId: questions[0]!.id, value: 'ok' })
    }
    expect(await again.outcome()).toMatchObject({ output: 'done' })
    expect(log.filter((line) => line.includes('ends'))).toHaveLength(2)
  })

  test('a worker that is stopped, and a delegation that is refused, leave the thread', async () => {
    const w = scripted(fatal('broken'), 'fine')
    const root = supervisor({
      name: 'lead',
      model: leads(['w', '1'], ['w', '2']),
      workers: [worker('w', w)],
      delegation: { memory: 'continue' },
    })
    expect(await (await runtimeOf([root])).run(root, 'go')).toMatchObject({ output: 'done' })
    expect(w.prompts).toHaveLength(2)
  })

  test('one that waits is stopped with the others when a hook ends the work, and never begins', async () => {
    const w = scripted('out-1', 'never')
    const root = supervisor({
      name: 'lead',
      model: scripted(delegates(['w', '1'], ['w', '2'])),
      workers: [worker('w', w)],
      delegation: { memory: 'continue', onComplete: ({ bail }) => bail('enough') },
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'enough' })
    expect(w.prompts).toHaveLength(1)
    expect((await eventsOf(run)).filter(({ type }) => type === 'delegation.refused')).toHaveLength(1)
  })

  test('a worker in the background has its thread until it ends', async () => {
    const log: string[] = []
    const root = supervisor({
      name: 'lead',
      model: scripted(delegates(['w', '1'], ['w', '2']), 'meanwhile', 'both'),
      workers: [asks('w', log)],
      delegation: { memory: 'continue', background: ['w'] },
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    for (let i = 0; i < 2; i++) await run.answer({ interruptId: (await waiting(run)).questions[0]!.id, value: 'ok' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(log).toEqual(['w begins 1', 'w ends 1', 'w begins 2', 'w ends 2'])
  })

  test('a run that is cancelled leaves it: the next run of the session goes on', async () => {
    const log: string[] = []
    const root = supervisor({
      name: 'lead',
      model: scripted((request) =>
        request.messages.at(-1)!.role === 'tool' ? 'done' : delegates(['w', '1'], ['w', '2']),
      ),
      workers: [asks('w', log)],
      delegation: { memory: 'continue' },
    })
    const runtime = await runtimeOf([root])
    const first = await runtime.start(root, 'go', { session: 's' })
    await waiting(first)
    await first.control.cancel('enough')
    expect(await first.outcome()).toMatchObject({ status: 'cancelled' })
    const second = await runtime.start(root, 'go', { session: 's' })
    for (let i = 0; i < 2; i++)
      await second.answer({ interruptId: (await waiting(second)).questions[0]!.id, value: 'ok' })
    expect(await second.outcome()).toMatchObject({ output: 'done' })
  })

  test('below a delegation that holds a thread, a call for it is refused instead of hanging', async () => {
    const w = scripted('never')
    const inner = scripted(delegates(['w', 'deep']), 'inner')
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: inner,
      workers: [worker('w', w)],
      delegation: { memory: { thread: 't' } },
    })
    const root = supervisor({
      name: 'top',
      model: leads(['mid', 'x']),
      workers: [mid],
      delegation: { memory: { thread: 't' } },
    })
    expect(await (await runtimeOf([root])).run(root, 'go')).toMatchObject({ output: 'done' })
    expect(asText(told(inner.prompts[1])[0] ?? null)).toContain('already works in the same thread')
    expect(w.prompts).toHaveLength(0)
  })

  test('two that would wait for each other do not: one is refused', async () => {
    // A has the thread a and wants b, B has b and wants a; each delegates only when both are at work
    let begun = 0
    const w = worker('w', scripted('w'))
    const leader = (name: string, thread: string): Agent => {
      const meets = async () => {
        begun++
        await expect.poll(() => begun).toBe(2)
        return delegates(['w', 'x'])
      }
      return supervisor({
        name,
        description: 'Leads.',
        model: scripted(meets, 'met'),
        workers: [w],
        delegation: { memory: { thread } },
      })
    }
    const root = supervisor({
      name: 'top',
      model: scripted(delegates(['A', 'x'], ['B', 'y']), 'done'),
      workers: [leader('A', 'b'), leader('B', 'a')],
      delegation: { workers: { A: { memory: { thread: 'a' } }, B: { memory: { thread: 'b' } } } },
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const refused = (await eventsOf(run)).filter(({ type }) => type === 'delegation.refused')
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatchObject({
      worker: 'w',
      failure: { message: expect.stringContaining('waits for work that this is part of') as never },
    })
  })
})

describe('a memory elsewhere', () => {
  const team = (memory: ThreadMemory, w: Scripted, model = leads(['w', 'do 1'], ['w', 'do 2'])) =>
    supervisor({ name: 'lead', model, workers: [worker('w', w)], delegation: { workers: { w: { memory } } } })

  class Notebook implements Memory {
    readonly asked: MemoryQuery[] = []
    readonly saved: MemoryExchange[] = []
    recall(query: MemoryQuery) {
      this.asked.push(query)
      return this.saved.length === 0 ? undefined : `Before: ${this.saved.map(({ answer }) => answer).join(', ')}`
    }
    async save(exchange: MemoryExchange) {
      await Promise.resolve()
      this.saved.push(exchange)
    }
  }

  test('is asked before and told after each delegation, and told whose it is', async () => {
    const memory = new Notebook()
    const w = scripted('a', 'b')
    const root = team(memory, w)
    await (await runtimeOf([root])).run(root, 'go', { session: 's', user: 'ann' })
    expect(withoutSystem(w.prompts[1])).toEqual([user('Before: a'), user('do 2')])
    expect(memory.asked[0]).toMatchObject({
      leader: 'lead',
      worker: 'w',
      prompt: 'do 1',
      caller: { user: 'ann', session: 's' },
    })
    expect(
      memory.saved.map(({ prompt, answer, thread }) => [prompt, answer, thread === memory.asked[0]!.thread]),
    ).toEqual([
      ['do 1', 'a', true],
      ['do 2', 'b', true],
    ])
  })

  test('delegation 53: one that cannot save does not lose the result, and the failure is reported', async () => {
    const root = team(
      { recall: () => [{ role: 'user', text: 'hint' }], save: () => Promise.reject(new Error('disk full')) },
      scripted('a', 'b'),
    )
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const failures = (await eventsOf(run)).filter(({ type }) => type === 'hook.failed')
    expect(failures).toHaveLength(2)
    expect(failures[0]).toMatchObject({
      hook: 'memory.save',
      worker: 'w',
      failure: { message: expect.stringContaining('disk full') as never },
    })
  })

  test('one that cannot recall, or gives what is no message, shows nothing', async () => {
    for (const recall of [
      () => Promise.reject(new Error('away')),
      () => [{ role: 'system', text: 'obey' }] as never,
      () => 7 as never,
    ]) {
      const w = scripted('a')
      const root = team({ recall }, w, leads(['w', 'do']))
      const run = await (await runtimeOf([root])).start(root, 'go')
      expect(await run.outcome()).toMatchObject({ output: 'done' })
      expect(withoutSystem(w.prompts[0])).toEqual([user('do')])
      expect((await eventsOf(run)).filter(({ type }) => type === 'hook.failed')).toMatchObject([
        { hook: 'memory.recall' },
      ])
    }
  })
})

test('delegation 29: feedback is kept once with its turn, and later runs of the session see it there', async () => {
  const lead = scripted(delegates(['w', 'do']), 'first', 'second', 'third')
  const root = supervisor({
    name: 'lead',
    model: lead,
    workers: [worker('w', scripted('a'))],
    delegation: { onComplete: () => ({ feedback: 'check the date' }) },
  })
  const runtime = await runtimeOf([root])
  for (const input of ['one', 'two', 'three']) await runtime.run(root, input, { session: 's' })
  expect(lead.prompts[1]!.at(-1)).toEqual(user('check the date'))
  const first = [user('one'), user('check the date'), assistant('first')]
  expect(withoutSystem(lead.prompts[2])).toEqual([...first, user('two')])
  expect(withoutSystem(lead.prompts[3])).toEqual([...first, user('two'), assistant('second'), user('three')])
})

test('what runs of a session are shown may be decided elsewhere; a failure shows nothing and stops nothing', async () => {
  const lead = scripted('first', 'second', 'third')
  const saved: SessionTurn[] = []
  const memory: SessionMemory = {
    recall: ({ prompt, caller }) => {
      if (prompt === 'three') throw new Error('away')
      return prompt === 'two'
        ? [{ role: 'assistant', text: `${caller.user} said ${saved[0]!.prompt}`, agent: 'lead' }]
        : undefined
    },
    save: (turn) => {
      saved.push(turn)
      if (turn.prompt === 'two') throw new Error('full')
    },
  }
  const root = worker('lead', lead)
  const runtime = await runtimeOf([root], { memory })
  const failures: unknown[] = []
  for (const input of ['one', 'two', 'three']) {
    const run = await runtime.start(root, input, { session: 's', user: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    failures.push((await eventsOf(run)).flatMap((event) => (event.type === 'hook.failed' ? [event.hook] : [])))
  }
  expect(lead.prompts.map(withoutSystem)).toEqual([
    [user('one')],
    [assistant('ann said one'), user('two')],
    [user('three')],
  ])
  expect(failures).toEqual([[], ['memory.save'], ['memory.recall']])
  expect(saved.map(({ prompt, answer, answeredBy }) => [prompt, answer, answeredBy])).toEqual([
    ['one', 'first', 'lead'],
    ['two', 'second', 'lead'],
    ['three', 'third', 'lead'],
  ])
  await expect(runtimeOf([root], { memory: {} as never })).rejects.toThrow(
    'memory is an object, expected an object with recall',
  )
})

test('wrong memories are refused with everything else that is wrong', () => {
  const make = (memory: unknown) => () =>
    supervisor({
      name: 'lead',
      model: scripted('x'),
      workers: [worker('w', scripted('x'))],
      delegation: { memory: memory as never },
    })
  expect(make('forever')).toThrow('memory is the text "forever", expected "isolated", "continue" or an object')
  expect(make({ thred: 'x' })).toThrow('did you mean "thread"?')
  expect(make({ thread: '' })).toThrow('memory.thread')
  expect(make({ shown: 101 })).toThrow('a whole number from 1 to 100')
  expect(make({ save: () => {} })).toThrow('without memory.recall')
  expect(make({ recall: 1 })).toThrow('memory.recall is 1, expected a function')
})
