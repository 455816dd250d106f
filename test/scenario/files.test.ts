/**
 * Pictures and files in results and in briefs: who sees which, what is described instead, and that nothing disappears
 * without a line that names it.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import { asText, fileHandle, fileLabel, withFiles, type FilePart, type Json } from '@reeve/core'
import { asTool, router, sequential } from '@reeve/flow'
import { spokenOf, type Recorded } from '@reeve/journal'
import type { Message } from '@reeve/model'
import { supervisor, type Delegation } from '@reeve/supervisor'
import { simulate, teamScenario } from '@reeve/testing'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, type Scripted } from './team.ts'

const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const chart: FilePart = { type: 'file', mediaType: 'image/png', filename: 'chart.png', data }
const receipt: FilePart = { type: 'file', mediaType: 'application/pdf', filename: 'receipt.pdf', data: 'JVBERi0xLjQK' }
const draw = tool({ name: 'draw', effect: 'read', execute: () => withFiles('the chart', [chart]) })
const asked = (...files: FilePart[]): { readonly messages: readonly Message[] } => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'My files:' }, ...files] }],
})

/** All files that a model was shown in its last prompt. */
const filesIn = (prompt: readonly Message[] | undefined): readonly FilePart[] =>
  (prompt ?? []).flatMap((message) =>
    message.role === 'user'
      ? typeof message.content === 'string'
        ? []
        : message.content.filter((part) => part.type === 'file')
      : message.role === 'system'
        ? []
        : (message.files ?? []),
  )
const words = (prompt: readonly Message[] | undefined): string => JSON.stringify(prompt).replaceAll('\\"', '"')
const seen = (model: Scripted, call = -1): readonly FilePart[] => filesIn(model.prompts.at(call))

describe('results of tools', () => {
  const alone = async (made: ReturnType<typeof tool>, answer: Json = {}) => {
    const model = scripted(calls([made.name, answer]), 'done')
    const run = await (await runtimeOf([agent({ name: 'a', model, tools: [made] })])).start('a', 'go')
    expect((await run.outcome()).status).toBe('completed')
    return { model, run, result: told(model.prompts[1])[0] }
  }

  test('withFiles: the model is shown the result and its files; the transcript has both', async () => {
    const { model, run, result } = await alone(draw)
    expect(result).toBe('the chart')
    expect(seen(model)).toEqual([chart])
    const recorded: Recorded[] = []
    for await (const each of run.events()) recorded.push(each)
    const said = spokenOf(recorded).find(({ type }) => type === 'tool')
    expect(said).toMatchObject({ content: 'the chart', files: [chart] })
  })

  test('bytes and a missing type are read from the data; orchestration may show files, too', async () => {
    const bytes = tool({
      name: 'bytes',
      run: () => Promise.resolve(withFiles({ ok: true }, [{ data: Buffer.from(data, 'base64'), filename: 'a/b.png' }])),
    })
    const { model, result } = await alone(bytes)
    expect(result).toEqual({ ok: true })
    expect(seen(model)).toEqual([{ type: 'file', mediaType: 'image/png', filename: 'b.png', data }])
  })

  test('a file that is not what it is said to be, is at a private address or is one too many, is described', async () => {
    const html = Buffer.from('<html>').toString('base64')
    const odd = tool({
      name: 'odd',
      effect: 'read',
      execute: () =>
        withFiles('done', [
          { data: html, mediaType: 'image/png', filename: 'x"]\n.png' },
          { url: 'http://169.254.169.254/', mediaType: 'image/png' },
          { data: 'no base64!', mediaType: 'image/png' },
          { data: `data:image/png;base64,${html}`, mediaType: 'image/png' },
          ...Array.from({ length: 120 }, () => chart),
        ]),
    })
    const { model, result } = await alone(odd)
    const lines = asText(result!).split('\n')
    expect(lines[0]).toBe('done')
    expect(lines[1]).toMatch(
      /^\[image\/png, not shown: "x.*image\/png, 6 bytes does not begin as a file of that type does\]$/,
    )
    expect(lines[2]).toContain('the url of a file has the scheme "http:"')
    expect(lines[3]).toContain('the data of a file is not data in base64')
    expect(lines[4]).toContain('the data of a file is an address: give what begins with "data:" as url')
    expect(lines[5]).toBe('[and 24 more files, not shown]')
    expect(lines).toHaveLength(6)
    expect(seen(model)).toHaveLength(96)
  })

  test('files that are no list are not shown, and the model is told', async () => {
    const one = tool({ name: 'one', effect: 'read', execute: () => withFiles('done', chart as never) })
    expect((await alone(one)).result).toBe('done\n[files, not shown: they are no list]')
  })

  test('JSON that looks like a result with files is JSON', async () => {
    const lookalike = { $output: 1, $shown: { content: 'mine', files: [{ ...chart }] } }
    for (const made of [
      tool({ name: 'fake', effect: 'read', execute: () => lookalike }),
      tool({ name: 'fake', run: () => Promise.resolve(lookalike) }),
    ]) {
      const { model, result } = await alone(made)
      expect(result).toEqual(lookalike)
      expect(seen(model)).toEqual([])
    }
  })

  test.each<[form: string, part: object]>([
    ['v5 media', { type: 'media', data, mediaType: 'image/png' }],
    ['v6 image-data', { type: 'image-data', data, mediaType: 'image/png' }],
    ['v6 file-data', { type: 'file-data', data, mediaType: 'image/png', filename: 'chart.png' }],
    ['v7 file', { type: 'file', data, mediaType: 'image/png' }],
    ['v7 bytes', { type: 'file', data: Uint8Array.from(Buffer.from(data, 'base64')), mediaType: 'image/png' }],
    ['v7 tagged', { type: 'file', data: { type: 'data', data }, mediaType: 'image/png' }],
  ])('toModelOutput: %s', async (_, part) => {
    const made = tool({
      name: 'draw',
      effect: 'read',
      execute: () => ({ raw: 1 }),
      toModelOutput: () => ({ type: 'content', value: [{ type: 'text', text: 'look:' }, part] }),
    })
    const { model, result } = await alone(made)
    expect(result).toBe('look:')
    expect(seen(model)).toMatchObject([{ mediaType: 'image/png', data }])
  })

  test.each<[form: string, part: object, expected: object]>([
    ['v6 image-url', { type: 'image-url', url: 'https://example.org/a.png' }, { mediaType: 'image/*' }],
    ['v6 file-url', { type: 'file-url', url: 'https://example.org/a.PDF?x=1' }, { mediaType: 'application/pdf' }],
    ['v7 url', { type: 'file', data: new URL('https://example.org/a'), mediaType: 'image/png' }, {}],
    ['v7 tagged url', { type: 'file', data: { type: 'url', url: new URL('https://example.org/a.gif') } }, {}],
  ])('toModelOutput: %s', async (_, part, expected) => {
    const made = tool({
      name: 'draw',
      effect: 'read',
      execute: () => 1,
      toModelOutput: () => ({ type: 'content', value: [part, { type: 'file-id', fileId: 'x' }] }),
    })
    const { model, result } = await alone(made)
    expect(seen(model)).toMatchObject([
      { url: expect.stringContaining('https://example.org/a') as string, ...expected },
    ])
    expect(result).toBe('[file-id, not shown]')
  })

  test('a middleware that shows less shows no file; one that hands on shows it', async () => {
    for (const [wrapTool, files] of [
      [
        async (_: unknown, run: () => Promise<{ content: Json }>) => ({ content: `${asText((await run()).content)}!` }),
        [],
      ],
      [async (_: unknown, run: () => Promise<{ content: Json }>) => ({ ...(await run()), content: 'x' }), [chart]],
    ] as const) {
      const model = scripted(calls(['draw', {}]), 'done')
      const a = agent({ name: 'a', model, tools: [draw], middleware: [{ name: 'm', wrapTool }] })
      await (await (await runtimeOf([a])).start('a', 'go')).outcome()
      expect(seen(model)).toEqual(files)
    }
  })

  test('an equal call names the files of the one that was made; background work shows them in its place', async () => {
    const once = tool({ name: 'once', execute: () => withFiles('made', [chart]) })
    const twice = scripted(calls(['once', {}, 'a'], ['once', {}, 'b']), 'done')
    await (await (await runtimeOf([agent({ name: 'a', model: twice, tools: [once] })])).start('a', 'go')).outcome()
    expect(seen(twice)).toEqual([chart])
    expect(told(twice.prompts[1])[1]).toContain(fileLabel(chart, 'shown there'))

    const slow = tool({ name: 'slow', background: true, execute: () => withFiles('made', [chart]) })
    const later = scripted(calls(['slow', {}]), 'waiting', 'done')
    await (await (await runtimeOf([agent({ name: 'a', model: later, tools: [slow] })])).start('a', 'go')).outcome()
    expect(seen(later)).toEqual([chart])
  })

  test('files of messages that were compacted are named', async () => {
    const model = scripted(
      calls(['draw', {}, 'k1']),
      calls(['draw', { n: 'x'.repeat(6_000) }, 'k2']),
      calls(['list', {}, 'k3']),
      'done',
    )
    const list = tool({ name: 'list', effect: 'read', execute: () => 'x'.repeat(9_000) })
    const a = agent({
      name: 'a',
      model,
      tools: [draw, list],
      compaction: { above: 3_000, keep: 1, summarize: () => 'notes' },
    })
    await (await (await runtimeOf([a])).start('a', 'go')).outcome()
    expect(seen(model)).toEqual([])
    expect(words(model.prompts.at(-1))).toContain(
      `Files of earlier messages, not shown any more:\\n${fileLabel(chart)}`,
    )
  })
})

describe('briefs', () => {
  async function led(lead: Scripted, w: Scripted, options: object, delegation: Delegation<'w'> = {}) {
    const helper = agent({ name: 'w', description: 'Works.', model: w })
    const boss = supervisor({ name: 'boss', model: lead, workers: [helper], delegation, tools: [draw] })
    const run = await (await runtimeOf([boss])).start(boss, 'go', options)
    return { outcome: await run.outcome(), run, events: await eventsOf(run) }
  }
  const hands = (files: Json) => calls(['delegate', { worker: 'w', instructions: 'look', files }])

  test('a worker sees no file by itself; the verb has no files where there are none', async () => {
    const [lead, w] = [scripted(delegates(['w', 'look']), 'done'), scripted('seen')]
    await led(lead, w, {})
    expect(JSON.stringify(lead.tools[0])).not.toContain('"files"')
    const [other, x] = [scripted(delegates(['w', 'look']), 'done'), scripted('seen')]
    await led(other, x, asked(chart))
    expect(JSON.stringify(other.tools[0])).toContain('"files"')
    expect(words(other.prompts[0])).toContain(fileLabel(chart))
    expect(seen(x)).toEqual([])
  })

  test.each<[how: string, files: Json]>([
    ['its handle', [fileHandle(receipt)]],
    ['its name', 'receipt.pdf'],
    ['its label', [fileLabel(receipt), 'receipt.pdf']],
  ])('the leader hands on a file by %s', async (_, files) => {
    const [lead, w] = [scripted(hands(files), 'done'), scripted('seen')]
    const { outcome } = await led(lead, w, asked(chart, receipt))
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(seen(w)).toEqual([receipt])
    expect(w.prompts[0]!.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'look' }, { type: 'text', text: fileLabel(receipt) }, receipt],
    })
  })

  test('a file of a result is handed on, also by the worker to its own', async () => {
    const deep = scripted('deep')
    const lowest = agent({ name: 'x', description: 'Works.', model: deep })
    const middle = scripted(calls(['delegate', { worker: 'x', instructions: 'deeper', files: ['chart.png'] }]), 'mid')
    const w = supervisor({ name: 'w', description: 'Leads.', model: middle, workers: [lowest] })
    const lead = scripted(calls(['draw', {}]), hands([fileHandle(chart)]), 'done')
    const boss = supervisor({ name: 'boss', model: lead, workers: [w], tools: [draw] })
    await (await (await runtimeOf([boss])).start(boss, 'go')).outcome()
    expect([JSON.stringify(lead.tools[0]).includes('"files"'), seen(middle, 0), seen(deep)]).toEqual([
      false,
      [chart],
      [chart],
    ])
  })

  test('a name of no file, or of several, is refused with those that there are', async () => {
    const other: FilePart = { ...receipt, filename: 'chart.png' }
    const [lead, w] = [scripted(hands(['../etc/passwd\u202e']), hands(['chart.png']), 'done'), scripted('seen')]
    await led(lead, w, asked(chart, other))
    expect(w.prompts).toEqual([])
    expect(told(lead.prompts[1])[0]).toContain(`no file of this conversation. Files are: ${fileLabel(chart)}`)
    expect(told(lead.prompts[2])[0]).toContain('the name of several files: give the handle')
  })

  test('files of the user cross with their message, as the context policy lets it through', async () => {
    for (const [context, files] of [
      ['brief', []],
      ['answers', [chart]],
      ['conversation', [chart]],
      [() => [], []],
    ] as const) {
      const [lead, w] = [scripted(delegates(['w', 'look']), 'done'), scripted('seen')]
      await led(lead, w, asked(chart), { context })
      expect(seen(w)).toEqual(files)
    }
  })

  test('what filterMessages takes out does not cross as a file', async () => {
    const [lead, w] = [scripted(delegates(['w', 'look']), 'done'), scripted('seen')]
    const shown: unknown[] = []
    await led(lead, w, asked(chart), {
      filterMessages: ({ messages }) => (shown.push(messages[0]), messages.map(({ role, text }) => ({ role, text }))),
    })
    expect(shown).toEqual([{ role: 'user', text: 'My files:', files: [chart] }])
    expect(seen(w)).toEqual([])
    expect(words(w.prompts[0])).toContain('My files:')
  })

  test('onStart is told of the files, and may refuse', async () => {
    const [lead, w] = [scripted(hands(['chart.png']), 'done'), scripted('seen')]
    await led(lead, w, asked(chart), {
      onStart: ({ files = [] }) => (files.length === 0 ? undefined : { proceed: false }),
    })
    expect(w.prompts).toEqual([])
  })

  test('a worker with a typed input is given files beside it; delegate_to_several gives them to each', async () => {
    const w = scripted('{}', 'seen')
    const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const typed = agent({ name: 'typed', description: 'Works.', model: w, input })
    const plain = agent({ name: 'plain', description: 'Works.', model: w })
    const lead = scripted(
      calls(['delegate_typed', { n: 1, files: ['chart.png'] }]),
      calls(['delegate_to_several', { workers: ['plain', 'plain'], instructions: 'look', files: ['chart.png'] }]),
      'done',
    )
    const boss = supervisor({ name: 'boss', model: lead, workers: [typed, plain], delegation: { several: true } })
    const run = await (await runtimeOf([boss])).start(boss, 'go', asked(chart))
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(w.prompts.map(filesIn)).toEqual([[chart], [chart], [chart]])
    expect(words(w.prompts[0])).toContain('{"n":1}')
  })

  test('code hands files on, to its own workers and through its team', async () => {
    const w = scripted('seen')
    const helper = agent({ name: 'w', description: 'Works.', model: w })
    const code = agent({
      name: 'code',
      workers: [helper],
      run: (ctx) => delegate(ctx, helper, 'look', { files: [chart] }).then(() => 'ok'),
    })
    await (await (await runtimeOf([code])).start(code, 'go')).outcome()
    const boss = supervisor({
      name: 'boss',
      workers: [helper],
      run: async (_ctx, _brief, own) => (await own.delegate('w', 'look', { files: [receipt] })).text,
    })
    await (await (await runtimeOf([boss])).start(boss, 'go')).outcome()
    expect(w.prompts.map(filesIn)).toEqual([[chart], [receipt]])
    const bad = agent({
      name: 'bad',
      workers: [helper],
      run: (ctx) => delegate(ctx, helper, 'x', { files: [{ ...chart, data: '!' }] as never }),
    })
    const failed = await (await (await runtimeOf([bad])).start(bad, 'go')).outcome()
    expect(failed).toMatchObject({ status: 'failed', failure: { code: 'input.invalid' } })
  })

  test('a start with a file that is none is refused', async () => {
    const runtime = await runtimeOf([agent({ name: 'a', model: scripted('x') })])
    const start = runtime.start('a', 'go', asked({ ...chart, data: 'no base64!' }))
    await expect(start).rejects.toMatchObject({ code: 'input.invalid' })
  })
})

describe('agents as tools', () => {
  async function called(input: Json, options: object = {}, given: object = {}, files = [chart, receipt]) {
    const [lead, w] = [scripted(calls(['w', input]), 'done'), scripted('seen')]
    const helper = agent({ name: 'w', description: 'Works.', model: w, ...given })
    const a = agent({ name: 'a', model: lead, tools: [asTool(helper, options)] })
    const run = await (await runtimeOf([a])).start(a, 'go', files.length === 0 ? {} : asked(...files))
    return { outcome: await run.outcome(), lead, w }
  }
  test('a request names files, and the agent sees those', async () => {
    const { outcome, lead, w } = await called({ request: 'look', files: ['receipt.pdf'] })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(lead.tools[0])).toContain('"files"')
    expect(words(lead.prompts[0])).toContain(fileLabel(chart))
    expect(w.prompts[0]!.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'look' }, { type: 'text', text: fileLabel(receipt) }, receipt],
    })
    expect(seen((await called({ request: 'look' })).w)).toEqual([])
  })
  test('a name of no file is told, and starts nothing', async () => {
    const { lead, w } = await called({ request: 'look', files: ['other.png'] })
    expect(w.prompts).toEqual([])
    expect(words(lead.prompts[1])).toContain(`no file of this conversation. Files are: ${fileLabel(chart)}`)
  })
  test('without files there is no such argument', async () => {
    const { lead, w } = await called({ request: 'look', files: [] }, {}, {}, [])
    expect(JSON.stringify(lead.tools[0])).not.toContain('"files"')
    expect(w.prompts).toEqual([])
  })
  test('with an input of its own, or the conversation, there is none either; the conversation has its files', async () => {
    const input = { type: 'object', properties: { n: { type: 'number' } } } as const
    expect(JSON.stringify((await called({ n: 1 }, {}, { input })).lead.tools[0])).not.toContain('"files"')
    const { lead, w } = await called({ request: 'look' }, { context: 'conversation' })
    expect(JSON.stringify(lead.tools[0])).not.toContain('"files"')
    expect(seen(w)).toEqual([chart, receipt])
  })
  test('an approver sees which files are named, and may name others', async () => {
    const [lead, w] = [scripted(calls(['w', { request: 'look', files: ['chart.png'] }]), 'done'), scripted('seen')]
    const helper = agent({ name: 'w', description: 'Works.', model: w })
    const a = agent({ name: 'a', model: lead, tools: [asTool(helper, { approval: true })] })
    const run = await (await runtimeOf([a])).start(a, 'go', asked(chart, receipt))
    const state = await run.until('waiting')
    const [approval] = 'waiting' in state ? state.questions : []
    expect(JSON.stringify(approval)).toContain('chart.png')
    const input = { request: 'look', files: ['receipt.pdf'] }
    await run.decide({ approvalId: approval!.id, decision: 'edit', input, approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(seen(w)).toEqual([receipt])
  })
})

describe('where control is handed on', () => {
  test('the next agent of a flow sees the files of a result, and who returned them', async () => {
    const [a, b] = [scripted(calls(['draw', {}]), 'drawn'), scripted('seen')]
    const flow = sequential({
      name: 'flow',
      agents: [agent({ name: 'a', model: a, tools: [draw] }), agent({ name: 'b', model: b })],
    })
    await (await (await runtimeOf([flow])).start(flow, 'go')).outcome()
    expect(seen(b)).toEqual([chart])
    expect(words(b.prompts[0])).toContain('For context: [a] `draw` tool returned result: the chart.')
    expect(words(b.prompts[0])).toContain(fileLabel(chart))
  })

  test('a transfer takes them along', async () => {
    const a = scripted(calls(['draw', {}]), 'drawn')
    const b = scripted('seen')
    const flow = router({
      name: 'desk',
      model: scripted(
        calls(['transfer_to_agent', { agent_name: 'a' }]),
        calls(['transfer_to_agent', { agent_name: 'b' }]),
        'done',
      ),
      transfer: { returns: 'always' },
      workers: [
        agent({ name: 'a', description: 'Draws.', model: a, tools: [draw] }),
        agent({ name: 'b', description: 'Reads.', model: b }),
      ],
    })
    await (await (await runtimeOf([flow])).start(flow, 'go')).outcome()
    expect(seen(b)).toEqual([chart])
  })

  test('a later run of the session reads which files there were', async () => {
    const model = scripted('one', 'two')
    const runtime = await runtimeOf([agent({ name: 'a', model })])
    await runtime.run('a', 'look', { ...asked(chart), session: 's', user: 'u' })
    await runtime.run('a', 'and?', { session: 's', user: 'u' })
    expect(seen(model)).toEqual([])
    expect(words(model.prompts[1])).toContain(`look\\n${fileLabel(chart)}`)
  })

  test('a fork shows them again', async () => {
    const model = scripted(calls(['draw', {}]), 'done')
    const runtime = await runtimeOf([agent({ name: 'a', model, tools: [draw] })], { store: store() })
    const run = await runtime.start('a', 'go')
    await run.outcome()
    const at = (await eventsOf(run)).findLastIndex(({ type }) => type === 'model.requested')
    const fork = await runtime.fork({ run: run.id, at })
    expect((await fork.outcome()).status).toBe('completed')
    expect(seen(model)).toEqual([chart])
  })
})

describe('under kills at every append', () => {
  const seeing = (name: string): Agent =>
    agent({ name, description: 'Works.', model: ({ messages }) => `saw ${filesIn(messages).length}` })
  const teams: Readonly<Record<string, () => Agent>> = {
    'a result and a brief with files': () =>
      supervisor({
        name: 'boss',
        workers: [seeing('w'), seeing('x')],
        tools: [draw],
        delegation: { background: ['x'], context: 'conversation' },
        model: ({ messages }) => {
          const results = messages.filter(({ role }) => role === 'tool').length
          if (results === 0) return calls(['draw', {}])
          if (results > 1) return `done with ${filesIn(messages).length}`
          return calls(
            ['delegate', { worker: 'w', instructions: 'look', files: ['chart.png'] }],
            ['delegate', { worker: 'x', instructions: 'look', files: ['chart.png'] }],
          )
        },
      }),
    'an agent as a tool, with a file': () =>
      agent({
        name: 'a',
        tools: [asTool(seeing('w'))],
        model: ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? 'done'
            : calls(['w', { request: 'look', files: ['receipt.pdf'] }]),
      }),
    'an effect, shown to the next agent': () =>
      sequential({
        name: 'flow',
        agents: [
          agent({
            name: 'a',
            tools: [tool({ name: 'pay', effect: 'idempotent', execute: () => withFiles('paid', [receipt]) })],
            model: ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'paid' : calls(['pay', {}])),
          }),
          seeing('b'),
        ],
      }),
  }
  test.each(Object.entries(teams))('%s', async (_, make) => {
    const { end, differences, repeated, points } = await simulate(
      teamScenario({ agents: [make()], input: 'go', ...asked(receipt) }),
    )
    expect(end.outcome.status).toBe('completed')
    expect({ differences, repeated }).toEqual({ differences: [], repeated: [] })
    expect(points).toBeGreaterThan(5)
  })
})
