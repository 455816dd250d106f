/** Prompts as every provider takes them: whole characters, no text without a word, neighbours as one, one system text. */
import { describe, expect, test } from 'vitest'
import type { Json, Message } from '@reeve/core'
import { PromptRenderer } from '../src/prompt.ts'
import { limitsOfObject } from '../src/provider-limits.ts'

const limitsOf = (model: string) => limitsOfObject(model.split(':')[0]!, model.split(':')[1] ?? '')
const half = '\ud83d'
const render = (messages: readonly Message[], model = 'anthropic.messages:claude'): readonly unknown[] =>
  new PromptRenderer({
    version: 'v4',
    identity: model,
    id: model,
    limits: { ...limitsOf(model), prefill: true },
  }).render(messages)
const user = (content: string): Message => ({ role: 'user', content })
const text = (value: string): object => ({ type: 'text', text: value })

describe('half characters', () => {
  test('are U+FFFD wherever text goes out, names of members included; what is recorded stays', () => {
    const metadata = { x: { note: half } }
    const messages: Message[] = [
      { role: 'system', content: `s${half}` },
      user(`u${half}`),
      {
        role: 'user',
        content: [
          { type: 'text', text: `p${half}` },
          { type: 'file', mediaType: 'text/plain', filename: `f${half}.txt`, data: 'aGk=', metadata },
        ],
      },
      {
        role: 'assistant',
        content: `a${half}`,
        calls: [{ id: 'c', name: `n${half}`, input: { [`k${half}`]: [half] } }],
        reasoning: {
          model: 'anthropic.messages:claude',
          parts: [
            { type: 'reasoning', text: `t${half}`, metadata },
            { type: 'text', length: 2 },
            { type: 'call', callId: 'c' },
          ],
        },
      },
      { role: 'tool', callId: 'c', name: `n${half}`, content: { [half]: { deep: [`r${half}`] } } },
    ]
    const sent = JSON.stringify(render(messages))
    expect(sent).not.toMatch(/\\ud[89a-f]/i)
    expect(sent.match(/\ufffd/g)).toHaveLength(14)
    expect(JSON.stringify(messages)).toMatch(/\\ud83d/)
  })

  test('whole ones are sent as they are', () => {
    expect(render([user('😀 \ufffd')])).toEqual([{ role: 'user', content: [text('😀 \ufffd')] }])
  })
})

describe('texts without a word', () => {
  const call = { id: 'c', name: 'read', input: {} }
  const thinking = (length: number, metadata?: { readonly [name: string]: Json }): Message => ({
    role: 'assistant',
    content: '\n'.repeat(length),
    calls: [call],
    reasoning: {
      model: 'anthropic.messages:claude',
      parts: [
        { type: 'reasoning', text: 'I need it.', metadata: { anthropic: { signature: 'SIG' } } },
        { type: 'text', length, ...(metadata === undefined ? {} : { metadata: { p: metadata } }) },
        { type: 'call', callId: 'c' },
      ],
    },
  })

  test.each([0, 2])('%i line feeds between thoughts and a call are left out; the signature stays', (length) => {
    expect(render([user('go'), thinking(length)])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'I need it.', providerOptions: { anthropic: { signature: 'SIG' } } },
        { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} },
      ],
    })
  })

  test('one that carries a signature or the place of an item is kept', () => {
    for (const metadata of [{ thoughtSignature: 'S' }, { itemId: 'msg_1' }])
      expect(render([user('go'), thinking(1, metadata)])[1]).toMatchObject({
        content: [{ type: 'reasoning' }, { ...text('\n'), providerOptions: { p: metadata } }, { type: 'tool-call' }],
      })
  })

  test('an answer without a word is no message; a user and a tool that say nothing have a word', () => {
    expect(
      render([
        { role: 'system', content: ' ' },
        user('\n'),
        { role: 'assistant', content: ' ' },
        { role: 'user', content: [text(''), text('and')] as never },
        { role: 'assistant', content: '', calls: [call] },
        { role: 'tool', callId: 'c', name: 'read', content: '' },
      ]),
    ).toEqual([
      { role: 'user', content: [text('[empty message]\n\nand')] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', toolName: 'read', output: { type: 'text', value: '[no output]' } },
        ],
      },
    ])
  })

  test('thoughts alone are no answer', () => {
    const parts = [{ type: 'reasoning' as const, text: 'hm' }]
    const silent: Message = { role: 'assistant', content: '', reasoning: { model: 'm', parts } }
    expect(render([user('a'), silent, user('b')], 'm')).toEqual([{ role: 'user', content: [text('a\n\nb')] }])
  })

  test('thoughts that the text held are not sent again', () => {
    const parts = [
      { type: 'reasoning' as const, text: 'hm', inText: true as const },
      { type: 'text' as const, length: 3 },
    ]
    const said: Message = { role: 'assistant', content: 'Yes', reasoning: { model: 'm', parts } }
    expect(render([user('a'), said], 'm')[1]).toEqual({ role: 'assistant', content: [text('Yes')] })
  })
})

describe('roles', () => {
  const roles = (messages: readonly Message[]): readonly string[] =>
    render(messages).map((each) => (each as { readonly role: string }).role)

  test('neighbours of one role are one message, their texts a blank line apart; files stay parts', () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'iVBORw0K' } as const
    const said: Message = { role: 'assistant', content: 'x' }
    expect(
      render([user('a'), user('b'), { role: 'user', content: [file] }, user('c'), said, { ...said, content: 'y' }]),
    ).toEqual([
      {
        role: 'user',
        content: [
          text('a\n\nb'),
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0K' } },
          text('c'),
        ],
      },
      { role: 'assistant', content: [text('x\n\ny')] },
    ])
  })

  test('an answer with a call stays apart from the next one', () => {
    const calls = [{ id: 'c', name: 'n', input: {} }]
    expect(roles([user('a'), { role: 'assistant', content: 'x', calls }, { role: 'assistant', content: 'y' }])).toEqual(
      ['user', 'assistant', 'assistant'],
    )
  })

  test('system texts are one, and first; then a user begins', () => {
    expect(render([{ role: 'system', content: 'A' }, user('u'), { role: 'system', content: 'B' }])).toEqual([
      { role: 'system', content: 'A\n\nB' },
      { role: 'user', content: [text('u')] },
    ])
    expect(roles([{ role: 'system', content: 'A' }, { role: 'assistant', content: 'x' }, user('u')])).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ])
  })
})

describe('ids of calls', () => {
  const ids = (id: string, model: string): readonly unknown[] =>
    (
      render(
        [
          user('a'),
          { role: 'assistant', content: '', calls: [{ id, name: 'act', input: {} }] },
          { role: 'tool', callId: id, name: 'act', content: 'ok' },
        ],
        model,
      ) as readonly { readonly content: readonly { readonly toolCallId: string }[] }[]
    )
      .slice(1)
      .map(({ content }) => content[0]!.toolCallId)

  test.each([
    ['functions.act:0', 'anthropic.messages:claude'],
    ['x'.repeat(65), 'openai.responses:gpt'],
  ])('%s is another one for %s, on the call and on its result', (id, model) => {
    const [call, result] = ids(id, model)
    expect(call).toMatch(/^[\w-]{1,64}$/)
    expect(result).toBe(call)
  })

  test('others stay as their server has made them', () => {
    expect(ids('functions.act:0', 'vllm.chat:kimi-k2')).toEqual(['functions.act:0', 'functions.act:0'])
  })
})

test('a conversation that ends with words of the assistant ends with the user, where the provider wants that', () => {
  const limits = limitsOf('anthropic.messages:claude')
  const renderer = new PromptRenderer({ version: 'v4', identity: 'x', id: 'x', limits })
  const prompt = renderer.render([user('a'), { role: 'assistant', content: 'so far' }])
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(prompt.at(-1)?.content).toEqual([text('[Go on where you stopped.]')])
})
