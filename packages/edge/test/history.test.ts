/**
 * What an agent is shown of others (spec collaboration 1.6): the words, taking transfers out, answers only; and what
 * holds for every conversation.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { transferTool, type FilePart, type HistoryEntry, type Json, type Message, type ToolCall } from '@reeve/core'
import {
  answersOnly,
  entriesOf,
  messageProblems,
  readEdge,
  shownTo,
  transferPair,
  withoutTransfers,
} from '../src/index.ts'

const user = (content: string): HistoryEntry => ({ message: { role: 'user', content } })
const says = (agent: string, content: string, calls: readonly ToolCall[] = []): HistoryEntry => ({
  agent,
  message: { role: 'assistant', content, ...(calls.length === 0 ? {} : { calls }) },
})
const call = (id: string, name: string, input: Json = {}): ToolCall => ({ id, name, input })
const xfer = (id: string, to: string): ToolCall => call(id, transferTool, { agent_name: to })
const result = (agent: string, callId: string, name: string, content: Json): HistoryEntry => ({
  agent,
  message: { role: 'tool', callId, name, content },
})
const handed = (agent: string, callId: string, to: string): HistoryEntry =>
  result(agent, callId, transferTool, `successfully transferred to agent [${to}]`)
const picture: FilePart = {
  type: 'file',
  mediaType: 'image/png',
  data: 'AAAA',
  filename: 'a.png',
  metadata: { p: { k: 1 } },
}
/** A whole conversation as one agent's model reads it. */
const allShownTo = (agent: string, entries: readonly HistoryEntry[]): readonly Message[] =>
  entries.flatMap((entry) => shownTo(agent, entry) ?? [])
/** What another agent is told of one message. */
const told = (entry: HistoryEntry): readonly unknown[] => allShownTo('reader', [entry]).map(({ content }) => content)

describe('the words in which others are told of', () => {
  const words: readonly (readonly [what: string, entry: HistoryEntry, told: readonly string[]])[] = [
    [
      'text and calls in one message',
      says('W1', 'thinking', [call('1', 'echo'), call('2', 'add', { b: [1, 'x'], a: null })]),
      [
        'For context: [W1] said: thinking. [W1] called tool: `echo` with arguments: {}. [W1] called tool: `add` with arguments: {"b":[1,"x"],"a":null}.',
      ],
    ],
    [
      'calls only, in their order',
      says('W1', '', [call('1', 'b', { n: 1 }), call('2', 'a')]),
      ['For context: [W1] called tool: `b` with arguments: {"n":1}. [W1] called tool: `a` with arguments: {}.'],
    ],
    ['a text that ends in a dot', says('W1', 'Done.'), ['For context: [W1] said: Done..']],
    ['a text of several lines', says('W1', 'a\nb'), ['For context: [W1] said: a\nb.']],
    [
      'arguments that were not JSON',
      says('W1', '', [{ id: '1', name: 'echo', input: null, invalid: '{"a":' }]),
      ['For context: [W1] called tool: `echo` with arguments: {"a":.'],
    ],
    [
      'a result that is text',
      result('W1', '1', 'echo', 'echoed'),
      ['For context: [W1] `echo` tool returned result: echoed.'],
    ],
    [
      'a result that is JSON',
      result('W1', '1', 'echo', { a: [1] }),
      ['For context: [W1] `echo` tool returned result: {"a":[1]}.'],
    ],
    ['a result that is no', result('W1', '1', 'ask', false), ['For context: [W1] `ask` tool returned result: false.']],
    ['a result that is 0', result('W1', '1', 'count', 0), ['For context: [W1] `count` tool returned result: 0.']],
    ['an empty result', result('W1', '1', 'echo', ''), []],
    ['no result', result('W1', '1', 'echo', null), []],
    ['an empty answer', says('W1', ''), []],
    ['an answer of spaces', says('W1', ' \n'), []],
    [
      'what Reeve says of it',
      { agent: 'W1', message: { role: 'user', content: '[W1 failed: x]' } },
      ['[W1 failed: x]'],
    ],
    ['its instructions', { agent: 'W1', message: { role: 'system', content: 'secret' } }, []],
  ]
  test.each(words)('collaboration 52 to 54: %s', (_what, entry, expected) => {
    expect(told(entry)).toEqual(expected)
  })

  test('collaboration 57: files go along with all their data, with and without text; reasoning does not', () => {
    const reasoning = {
      model: 'm',
      parts: [{ type: 'reasoning', text: 'a secret thought' } as const, { type: 'file' } as const],
    }
    const made = (content: string): HistoryEntry => ({
      agent: 'W1',
      message: { role: 'assistant', content, files: [picture], reasoning },
    })
    expect(told(made('look'))).toEqual([[{ type: 'text', text: 'For context: [W1] said: look.' }, picture]])
    expect(told(made(''))).toEqual([[{ type: 'text', text: 'For context: [W1] made this.' }, picture]])
  })

  test('collaboration 17, 56: what comes from outside and what it said are the same message, reasoning included', () => {
    const own: HistoryEntry = {
      agent: 'reader',
      message: { role: 'assistant', content: 'x', calls: [call('1', 'echo')], reasoning: { model: 'm', parts: [] } },
    }
    const outside: readonly Message[] = [
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'text', text: 'see' }, picture] },
      { role: 'assistant', content: 'a', calls: [call('o', 'find')] },
      { role: 'tool', callId: 'o', name: 'find', content: '' },
      { role: 'assistant', content: '' },
    ]
    const entries = [...outside.map((message) => ({ message })), own, result('reader', '1', 'echo', '')]
    expect(allShownTo('reader', entries)).toEqual(entries.map(({ message }) => message))
  })

  test('collaboration 54: an own answer of which nothing is there is not sent again: providers refuse it', () => {
    expect(allShownTo('reader', [user('go'), says('reader', ''), user('again')])).toEqual([
      user('go').message,
      user('again').message,
    ])
  })

  test('what crosses with a brief: session, messages of the caller, what the leader let through, the brief', () => {
    const recorded = {
      brief: { instructions: 'go' },
      depth: 0,
      maxDepth: 4,
      history: [
        { role: 'user', text: 'before' } as const,
        { role: 'assistant', text: 'an answer', agent: 'A' } as const,
      ],
      messages: [{ role: 'system', content: 's' } as const],
      context: [
        { role: 'assistant', text: 'of another', agent: 'B' } as const,
        { role: 'assistant', text: 'of nobody' } as const,
      ],
    }
    expect(entriesOf(readEdge(recorded))).toEqual([
      user('before'),
      { ...says('A', 'an answer'), answer: true },
      { message: { role: 'system', content: 's' } },
      { ...says('B', 'of another'), answer: true },
      { message: { role: 'assistant', content: 'of nobody' } },
      user('go'),
    ])
    expect(entriesOf(readEdge({ ...recorded, entries: [user('only this')] } as unknown as Json))).toEqual([
      user('only this'),
    ])
  })
})

describe('collaboration 62: taking transfers out', () => {
  test('the pair that code and rules leave goes as a whole', () => {
    const pair = transferPair('Sup', 'k').map((message): HistoryEntry => ({ agent: 'W', message }))
    expect(withoutTransfers([user('go'), ...pair, says('Sup', 'done')])).toEqual([user('go'), says('Sup', 'done')])
  })

  test('another tool of the same turn stays, with its result; so does the text', () => {
    const turn = [
      says('Sup', 'let me delegate', [call('e', 'echo'), xfer('t', 'W')]),
      result('Sup', 'e', 'echo', 'echoed'),
      handed('Sup', 't', 'W'),
    ]
    expect(withoutTransfers(turn)).toEqual([
      says('Sup', 'let me delegate', [call('e', 'echo')]),
      result('Sup', 'e', 'echo', 'echoed'),
    ])
    expect(withoutTransfers([says('Sup', 'let me delegate', [xfer('t', 'W')]), handed('Sup', 't', 'W')])).toEqual([
      says('Sup', 'let me delegate'),
    ])
  })

  test('files stay, and a message of which nothing is left goes', () => {
    const message = { role: 'assistant', content: '', calls: [xfer('t', 'W')] } as const
    expect(withoutTransfers([{ agent: 'A', message: { ...message, files: [picture] } }])).toEqual([
      { agent: 'A', message: { role: 'assistant', content: '', files: [picture] } },
    ])
    expect(withoutTransfers([{ agent: 'A', message: { ...message, files: [] } }])).toEqual([])
  })

  test('ids that a model repeats mix up nothing', () => {
    const turn = [
      says('A', '', [call('1', 'echo'), xfer('1', 'W')]),
      result('A', '1', 'echo', 'x'),
      handed('A', '1', 'W'),
    ]
    const left = [says('A', '', [call('1', 'echo')]), result('A', '1', 'echo', 'x')]
    expect(withoutTransfers([...turn, ...turn])).toEqual([...left, ...left])
  })

  test('the order of thoughts names the calls, so it goes with one of them; elsewhere it stays', () => {
    const reasoning = {
      model: 'm',
      parts: [{ type: 'reasoning', text: 'hm' } as const, { type: 'call', callId: 't' } as const],
    }
    const thought = (calls: readonly ToolCall[]): HistoryEntry => ({
      agent: 'A',
      message: { role: 'assistant', content: 'x', calls, reasoning },
    })
    expect(withoutTransfers([thought([xfer('t', 'W')])])).toEqual([says('A', 'x')])
    expect(withoutTransfers([thought([call('t', 'echo')])])).toEqual([thought([call('t', 'echo')])])
  })

  test('a transfer that the caller gives as an earlier message is no transfer of this run', () => {
    const given = transferPair('W', 'k').map((message): HistoryEntry => ({ message }))
    expect(withoutTransfers(given)).toEqual(given)
  })

  test('a refused transfer goes like one that was made', () => {
    const refused = result('A', 't', transferTool, '[not transferred: there is no agent "X"]')
    expect(withoutTransfers([says('A', '', [xfer('t', 'X')]), refused, says('A', 'then I answer')])).toEqual([
      says('A', 'then I answer'),
    ])
  })
})

describe('collaboration 64: answers only', () => {
  const ended = (entry: HistoryEntry): HistoryEntry => ({ ...entry, answer: true })

  test('the last words of each turn at the work, without the calls in them; what comes from outside stays', () => {
    const talk = [
      user('go'),
      says('A', 'thinking', [call('1', 'echo')]),
      result('A', '1', 'echo', 'x'),
      says('A', 'a result'),
      says('B', 'over to A', [xfer('t', 'A')]),
      handed('B', 't', 'A'),
      says('A', 'a second result'),
    ]
    expect(answersOnly(talk)).toEqual([
      user('go'),
      says('A', 'a result'),
      says('B', 'over to A'),
      says('A', 'a second result'),
    ])
  })

  test('two turns of one agent in a row are two answers', () => {
    expect(
      answersOnly([
        says('A', 'said before'),
        ended(says('A', 'one')),
        says('A', '', [call('1', 'x')]),
        ended(says('A', 'two')),
      ]),
    ).toEqual([ended(says('A', 'one')), ended(says('A', 'two'))])
  })

  test('the result of a tool that is the answer is one, in the words of its agent; another result is none', () => {
    const talk = [
      says('A', 'I look', [call('1', 'echo'), call('2', 'exit')]),
      result('A', '1', 'echo', 'x'),
      ended(result('A', '2', 'exit', { n: 1 })),
    ]
    expect(answersOnly(talk)).toEqual([ended(says('A', '{"n":1}'))])
  })

  test('an empty answer is none, and what was said before it is not put in its place', () => {
    expect(answersOnly([says('A', 'one'), says('B', 'two'), ended(says('A', ''))])).toEqual([
      says('A', 'one'),
      says('B', 'two'),
    ])
  })

  test('a picture is an answer', () => {
    const made: HistoryEntry = { agent: 'A', message: { role: 'assistant', content: '', files: [picture] } }
    expect(answersOnly([made])).toEqual([made])
  })
})

describe('messages made by foreign code', () => {
  test('are fine in every form that is one', () => {
    const fine: readonly Message[] = [
      { role: 'system', content: '' },
      { role: 'user', content: [picture] },
      { role: 'assistant', content: '', calls: [call('1', 'echo')] },
      { role: 'tool', callId: '1', name: 'echo', content: null },
    ]
    expect(messageProblems(fine, 'messages')).toEqual([])
  })

  test('what is wrong is said of each, by its place', () => {
    const wrong = [
      'text',
      { role: 'bot', content: 'x' },
      { role: 'user' },
      { role: 'assistant', content: 5 },
      { role: 'tool', content: 'x' },
      { role: 'user', content: 'x', at: Number.NaN },
    ]
    expect(messageProblems(wrong, 'messages')).toEqual([
      'messages[0] has no role: system, user, assistant or tool',
      'messages[1] has no role: system, user, assistant or tool',
      'messages[2] has no content',
      'messages[3].content is no text',
      'messages[4] does not say which call it is the result of: callId and name',
      'messages[5].at is NaN, which JSON cannot hold',
    ])
    expect(messageProblems('text', 'messages')).toEqual(['messages must be a list of messages'])
  })
})

/** Turns at the work as Reeve records them: each call has its result, in the order of the calls. Ids repeat. */
const someCall = fc.record({
  id: fc.constantFrom('1', '2', ''),
  name: fc.constantFrom('echo', 'add', transferTool),
  content: fc.constantFrom<Json>('', 'x', null, { a: 1 }, 'successfully transferred to agent [W]'),
})
const someText = fc.constantFrom('', ' ', 'x', 'done.')
const someFiles = fc.constantFrom<{ files?: readonly FilePart[] }>({}, { files: [] }, { files: [picture] })
const someTurn = fc
  .record({
    agent: fc.constantFrom('A', 'B', 'C'),
    text: someText,
    files: someFiles,
    calls: fc.array(someCall, { maxLength: 3 }),
    end: fc.boolean(),
  })
  .map(({ agent, text, files, calls, end }): HistoryEntry[] => [
    {
      agent,
      message: { role: 'assistant', content: text, ...files, calls: calls.map(({ id, name }) => call(id, name)) },
      ...(end && calls.length === 0 ? { answer: true } : {}),
    },
    ...calls.map(({ id, name, content }) => result(agent, id, name, content)),
  ])
const someOutside = someText.map((text) => [user(text)])
const conversation = fc.array(fc.oneof(someTurn, someOutside), { maxLength: 12 }).map((turns) => turns.flat())

/** Calls that have no result right behind their message, and results that no call is there for. */
function loose(messages: readonly Message[]): string[] {
  const wrong: string[] = []
  let open: ToolCall[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      const at = open.findIndex(({ id, name }) => id === message.callId && name === message.name)
      if (at < 0) wrong.push(`the result of ${message.name} has no call`)
      else open.splice(at, 1)
    } else {
      wrong.push(...open.map(({ name }) => `the call of ${name} has no result`))
      open = message.role === 'assistant' ? [...(message.calls ?? [])] : []
    }
  }
  return [...wrong, ...open.map(({ name }) => `the call of ${name} has no result`)]
}

/** Whether the first list is the second with some left out. */
function isWithin<T>(some: readonly T[], all: readonly T[]): boolean {
  let at = 0
  for (const each of all) if (at < some.length && some[at] === each) at++
  return at === some.length
}

describe('of every conversation', () => {
  test('removing transfers leaves no call without result, no result without call, and no trace of a transfer', () => {
    fc.assert(
      fc.property(conversation, (entries) => {
        const left = withoutTransfers(entries)
        expect(loose(left.map(({ message }) => message))).toEqual([])
        expect(JSON.stringify(left)).not.toContain(`"${transferTool}"`)
        expect(withoutTransfers(left)).toEqual(left)
        const others = (list: readonly HistoryEntry[]): Message[] =>
          list.flatMap(({ message }) => (message.role === 'tool' && message.name !== transferTool ? [message] : []))
        expect(others(left)).toEqual(others(entries))
      }),
    )
  })

  test('an agent is shown no empty message but from outside, in order, its own calls with their results', () => {
    fc.assert(
      fc.property(conversation, fc.constantFrom('A', 'B', 'D'), (entries, agent) => {
        const marked = entries.map((entry, i): HistoryEntry =>
          entry.agent === undefined ? user(`outside ${i}`) : entry,
        )
        const shown = allShownTo(agent, marked)
        for (const message of shown) {
          const {
            content,
            calls = [],
            files = [],
          } = message as { content: Json; calls?: readonly Json[]; files?: readonly Json[] }
          if (message.role === 'tool') continue // its call needs it, whatever it holds
          expect(
            calls.length > 0 ||
              files.length > 0 ||
              (typeof content === 'string' ? content.trim() !== '' : (content as Json[]).length > 0),
          ).toBe(true)
        }
        expect(loose(shown)).toEqual([])
        const mine = marked
          .filter((entry) => entry.agent === undefined || entry.agent === agent)
          .map(({ message }) => message)
        expect(
          isWithin(
            shown.filter((message) => mine.includes(message)),
            mine,
          ),
        ).toBe(true)
      }),
    )
  })

  test('answers are words, in their order, and at most one for each message', () => {
    fc.assert(
      fc.property(conversation, (entries) => {
        const answers = answersOnly(entries)
        expect(answers.length).toBeLessThanOrEqual(entries.length)
        expect(answers.every(({ message }) => message.role !== 'tool' && !('calls' in message))).toBe(true)
        expect(answersOnly(answers).map(({ message }) => message)).toEqual(answers.map(({ message }) => message))
        const outside = (list: readonly HistoryEntry[]): readonly HistoryEntry[] =>
          list.filter(({ agent }) => agent === undefined)
        expect(outside(answers)).toEqual(outside(entries))
      }),
    )
  })
})
