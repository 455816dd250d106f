/**
 * Spec collaboration, section C: what a router's lead learns of workers that fail, say nothing or are whole orders, and
 * what each of them is shown and may do.
 */
import { describe, expect, test } from 'vitest'
import { agent, exit, step, tool, transferTo, type Agent } from '@reeve/agent'
import { router, sequential, type TransferEdge } from '@reeve/flow'
import { code, leadTo, played, user, withoutSystem, worker, xfer } from './control.ts'
import { calls, fatal, scripted, told, type Scripted } from './team.ts'

describe('a worker that does not complete', () => {
  const broken = tool({
    name: 'broken',
    retry: { attempts: 1 },
    execute: () => {
      throw new Error('disk full')
    },
  })
  const endless = tool({ name: 'endless', effect: 'read', execute: () => 'more' })
  const failing: readonly (readonly [string, () => Agent, RegExp])[] = [
    ['its model', () => worker('W', scripted(fatal('quota'))), /^\[worker "W" failed: its model could not answer\]$/],
    [
      'it throws',
      () => code('W', () => Promise.reject(new Error('no paper'))),
      /^\[worker "W" failed: its code failed\]$/,
    ],
    [
      'its limit',
      () =>
        agent({
          name: 'W',
          description: 'One.',
          model: scripted({ text: 'so far', ...calls(['endless', {}]) }),
          tools: [endless],
          limits: { turns: 2 },
        }),
      /^\[worker "W" stopped at its limit of turns: .*\]\nIts answer so far:\nso far$/,
    ],
    ['its output', () => code('W', () => undefined), /^\[worker "W" finished without an answer\]$/],
    [
      'a step inside it',
      () =>
        sequential({
          name: 'W',
          description: 'Two.',
          agents: [code('A', () => 'a'), code('B', () => Promise.reject(new Error('no ink')))],
        }),
      /^\[worker "W" failed( in "B")?: its code failed\]$/,
    ],
  ]
  test.each(failing)(
    'collaboration 40: %s: the lead is asked again and told who failed and why',
    async (_what, make, says) => {
      const lead = leadTo('W')
      const { outcome, paths } = await played(router({ name: 'Sup', model: lead, workers: [make()] }))
      expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
      expect(paths.at(-1)).toBe('Sup/W/Sup')
      expect(lead.prompts[1]!.at(-1)).toMatchObject({ role: 'user', content: expect.stringMatching(says) as string })
    },
  )

  test('collaboration 40: a tool of it that fails is content for the worker, which may answer all the same', async () => {
    const model = scripted(calls(['broken', {}]), 'without it')
    const lead = leadTo('W')
    const { outcome } = await played(
      router({
        name: 'Sup',
        model: lead,
        workers: [agent({ name: 'W', description: 'One.', model, tools: [broken] })],
      }),
    )
    expect(outcome).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['[tool "broken" failed: disk full]'])
    expect(lead.prompts[1]!.at(-1)).toEqual(user('For context: [W] said: without it.'))
  })

  test.each<[string, TransferEdge]>([
    ['onFailure: end', { onFailure: 'end' }],
    ['for this one only', { agents: { W: { onFailure: 'end' } } } as TransferEdge],
    ['one that never returns', { returns: 'never' }],
  ])(
    'collaboration 40: fail fast (%s): the run ends in the same way, and says who and where',
    async (_what, transfer) => {
      const lead = leadTo('W')
      const w = code('W', () => Promise.reject(new Error('no paper')))
      const { outcome } = await played(router({ name: 'Sup', model: lead, workers: [w], transfer }))
      expect(outcome).toMatchObject({
        status: 'failed',
        failure: { message: 'no paper', details: { agent: 'W', path: ['Sup', 'W'] } },
      })
      expect(lead.prompts).toHaveLength(1)
    },
  )

  test('collaboration 40: a lead that fails ends it; the failure says where', async () => {
    const { outcome } = await played(
      router({ name: 'Sup', model: scripted(xfer('W'), fatal('quota')), workers: [worker('W')] }),
    )
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { details: { agent: 'Sup', path: ['Sup', 'W', 'Sup'] } },
    })
  })

  test('collaboration 39: a worker has no transfer tool; a call of it is content, and it may still answer', async () => {
    const model = scripted(xfer('Sup'), 'then I answer')
    const { outcome, moves } = await played(router({ name: 'Sup', model: leadTo('W'), workers: [worker('W', model)] }))
    expect(outcome).toMatchObject({ output: 'final' })
    expect(model.tools[0]).toEqual([])
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/no tool "transfer_to_agent"/)])
    expect(moves).toEqual(['Sup > W by model', 'W > Sup by rule'])
  })
})

describe('an order as a worker', () => {
  const orderOf = (a: Scripted, b: Scripted) =>
    sequential({
      name: 'Flow',
      description: 'A, then B.',
      agents: [
        worker('A', a),
        code('Keep', async (ctx) => {
          await ctx.values.update('found', () => 7)
          return null
        }),
        worker('B', b),
      ],
    })

  test('collaboration 41: B sees A; the lead sees both once and how control moved, and reads what was kept', async () => {
    const [a, b] = [scripted('a result'), scripted('b result')]
    const sup = router({
      name: 'Sup',
      run: async (ctx, _brief, talk) => {
        if (talk.history.length === 1) return transferTo('Flow')
        const found = await ctx.values.get('found')
        const heard = talk.history.map(
          ({ agent: by, message }) =>
            `${by ?? 'user'}: ${message.role} ${typeof message.content === 'string' ? message.content : ''}`,
        )
        return [...heard, found]
      },
      workers: [orderOf(a, b)],
      transfer: { transfers: 'shown' },
    })
    const { outcome, paths } = await played(sup)
    expect(paths).toEqual(['Sup', 'Sup/Flow', 'Sup/Flow/A', 'Sup/Flow/A/Keep', 'Sup/Flow/A/Keep/B', 'Sup/Flow/Sup'])
    expect(withoutSystem(b.prompts[0])).toContainEqual(user('For context: [A] said: a result.'))
    expect(outcome).toMatchObject({
      output: [
        'user: user task',
        'Sup: assistant ',
        'Sup: tool successfully transferred to agent [Flow]',
        'A: assistant a result',
        'B: assistant b result',
        'Flow: assistant ',
        'Flow: tool successfully transferred to agent [Sup]',
        7,
      ],
    })
  })

  test('collaboration 42: isolated: the first step sees outside input only; the second also the first', async () => {
    const [a, b, lead] = [scripted('a result'), scripted('b result'), leadTo('W', 'Flow')]
    const sup = router({
      name: 'Sup',
      instructions: 'A secret of the lead.',
      model: lead,
      workers: [worker('W'), orderOf(a, b)],
      transfer: { agents: { Flow: { context: 'input' } } },
    })
    await played(sup)
    expect(a.prompts).toEqual([[user('task')]])
    expect(b.prompts).toEqual([[user('task'), user('For context: [A] said: a result.')]])
    for (const text of ['W result', 'a result', 'b result']) expect(JSON.stringify(lead.prompts[2])).toContain(text)
  })

  test.each(['input', 'brief'] as const)(
    'collaboration 42: what is kept from all workers (%s) is not kept from the lead',
    async (context) => {
      const [lead, w2] = [leadTo('W1', 'W2'), scripted('w2 result')]
      await played(
        router({
          name: 'Sup',
          model: lead,
          workers: [worker('W1'), worker('W2', w2)],
          transfer: { context, permissions: { tools: [] } },
        }),
      )
      expect(w2.prompts).toEqual([[user('task')]])
      expect(withoutSystem(lead.prompts[2])).toEqual([
        user('task'),
        user('For context: [W1] said: W1 result.'),
        user('For context: [W2] said: w2 result.'),
      ])
    },
  )

  test('what the lead may do is the same in each of its turns', async () => {
    const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
    for (const [permissions, name, may] of [
      [{ tools: [] }, 'Sup', [[], []]],
      [{ tools: [] }, 'W', [['look'], ['look']]],
    ] as const) {
      const lead = leadTo('W')
      const transfer = { agents: { [name]: { permissions } } } as Record<string, unknown>
      await played(router({ name: 'Sup', model: lead, tools: [look], workers: [worker('W')], transfer }))
      expect(lead.tools.map((tools) => tools.map((each) => each.name).filter((each) => each === 'look'))).toEqual(may)
    }
  })
})

test('code leads as a model does, also over several workers, and its steps are its own', async () => {
  let turn = 0
  const sup = router({
    name: 'Sup',
    run: async (ctx, _brief, talk) => {
      const n = await step(ctx, 'count', () => ++turn)
      return n <= 2 ? transferTo(`W${n}`, { task: `part ${n}` }) : talk.history.length
    },
    workers: [worker('W1'), worker('W2')],
  })
  const { outcome, moves } = await played(sup)
  expect(outcome).toMatchObject({ output: 3 })
  expect(moves).toEqual(['Sup > W1 by code', 'W1 > Sup by rule', 'Sup > W2 by code', 'W2 > Sup by rule'])
})

test('a lead’s tool may transfer by its result; for an unknown target the model is told', async () => {
  const go = (to: string) =>
    tool({ name: 'go', effect: 'read', execute: () => 'went', action: { transfer: to, task: 'count' } })
  const [lead, w] = [scripted(calls(['go', {}]), 'final'), scripted('12')]
  const { moves, outcome } = await played(
    router({ name: 'Sup', model: lead, tools: [go('W')], workers: [worker('W', w)] }),
  )
  expect(outcome).toMatchObject({ output: 'final' })
  expect(moves).toEqual(['Sup > W by model', 'W > Sup by rule'])
  expect(w.prompts[0]!.slice(-2)).toEqual([user('For context: [Sup] `go` tool returned result: went.'), user('count')])

  const lost = scripted(calls(['go', {}]), 'by myself')
  expect(
    (await played(router({ name: 'Sup', model: lost, tools: [go('Nobody')], workers: [worker('W')] }))).outcome,
  ).toMatchObject({
    output: 'by myself',
  })
  expect(told(lost.prompts[1])).toEqual([
    expect.stringMatching(/not transferred.*"Nobody".*only W.*The result was: went/),
  ])
})

test('what a worker answers in the place of the router must be what the router promises', async () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  const by = (answer: unknown) =>
    router({
      name: 'Sup',
      model: leadTo('W'),
      output,
      workers: [code('W', () => answer)],
      transfer: { returns: 'never' },
    })
  expect((await played(by({ n: 1 }))).outcome).toMatchObject({ status: 'completed', output: { n: 1 } })
  expect((await played(by('one'))).outcome).toMatchObject({
    status: 'failed',
    failure: { code: 'output.invalid', details: { agent: 'W', path: ['Sup', 'W'] } },
  })
})

test('collaboration 51: an exit’s output is the run’s answer, free of an inner router’s schema', async () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  const top = (scope: 'run' | 'supervisor', own?: typeof output) => {
    const mid = router({
      name: 'Mid',
      description: 'M',
      model: leadTo('W'),
      output,
      workers: [code('W', () => exit('enough', scope))],
    })
    return router({ name: 'Top', model: leadTo('Mid'), workers: [mid], ...(own === undefined ? {} : { output: own }) })
  }
  expect((await played(top('run'))).outcome).toMatchObject({ status: 'completed', output: 'enough' })
  const unfit = {
    status: 'failed',
    failure: { code: 'output.invalid', details: { agent: 'Mid', path: ['Top', 'Mid'] } },
  }
  expect((await played(top('run', output))).outcome).toMatchObject(unfit)
  // with a near exit it is Mid's answer, so Mid has failed and Top is told
  expect((await played(top('supervisor'))).outcome).toMatchObject({ status: 'completed', output: 'final' })
})
