/**
 * Property: content keys are those of the content: everything that is named changes them, the order of members and what
 * is of one run alone do not.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CallNumbers,
  canonical,
  digest,
  digestJson,
  isObject,
  messageContent,
  type ActivationId,
  type AssistantMessage,
  type Json,
  type JsonObject,
  type Message,
  type SystemMessage,
  type ToolCall,
  type ToolMessage,
  type UserMessage,
} from '@reeve/core'
import { questionContent, workerContent, type ApprovalRequested } from '@reeve/journal'
import { MessagesContent, modelCallContent } from '@reeve/model'

const word = fc.stringMatching(/^[a-z]{1,6}$/)
const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
const object = fc.dictionary(word, json, { minKeys: 1, maxKeys: 4 })

/** The same value with its members in another order. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(turned)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, turned(member)]),
  )
}

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: word }),
  fc.record({ role: fc.constant('system' as const), content: word }),
  fc.record({ role: fc.constant('tool' as const), callId: word, name: word, content: json }),
)

type Call = Parameters<typeof modelCallContent>[0] & { readonly messages: readonly Message[] }
const call: fc.Arbitrary<Call> = fc.record({
  model: word,
  messages: fc.array(message, { minLength: 1, maxLength: 5 }),
  tools: fc.array(fc.record({ name: word, description: word, parameters: object }), { maxLength: 3 }),
  settings: fc.record({
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    topP: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  outputSchema: object,
  purpose: fc.constantFrom('summary', 'choice'),
})

const keyOf = digest
const callKey = ({ messages, ...rest }: Call): string =>
  keyOf(modelCallContent(rest, new MessagesContent().of(messages, digest), digest))

describe('the key of a model call', () => {
  test('is the same for equal content, in any order of members', () => {
    fc.assert(
      fc.property(call, (one) => {
        expect(callKey(turned(one as unknown as Json) as unknown as Call)).toBe(callKey(one))
      }),
    )
  })

  test('differs with each of what it is made of', () => {
    fc.assert(
      fc.property(call, call, (one, other) => {
        for (const name of ['settings', 'outputSchema', 'purpose'] as const) {
          const { [name]: _gone, ...without } = one
          expect(callKey(without as Call), `without ${name}`).not.toBe(callKey(one))
        }
        for (const name of Object.keys(one) as (keyof Call)[]) {
          const changed = { ...one, [name]: other[name] }
          const isSame = canonical(changed as unknown as Json) === canonical(one as unknown as Json)
          expect(callKey(changed) === callKey(one), name).toBe(isSame)
        }
      }),
    )
  })
})

/**
 * Each kind of message with all that it may hold: a member more does not compile until it stands here, and what it
 * tells is in the content.
 */
const messages: readonly Required<Message>[] = [
  { role: 'system', content: 'x' } satisfies Required<SystemMessage>,
  { role: 'user', content: [{ type: 'text', text: 'x' }] } satisfies Required<UserMessage>,
  {
    role: 'assistant',
    content: 'x',
    calls: [{ id: 'a', name: 'read', input: { path: 'x' }, invalid: '{' } satisfies Required<ToolCall>],
    files: [{ type: 'file', mediaType: 'image/png', data: 'AA==' }],
    reasoning: { model: 'm', parts: [{ type: 'reasoning', text: 'hm' }] },
    sources: [{ url: 'https://example.com/', title: 'x', filename: 'y' }],
  } satisfies Required<AssistantMessage>,
  {
    role: 'tool',
    callId: 'a',
    name: 'read',
    content: 'x',
    isError: true,
    files: [{ type: 'file', mediaType: 'image/png', data: 'AA==' }],
  } satisfies Required<ToolMessage>,
]

describe('what a message puts into content keys', () => {
  const contentOf = (list: readonly Message[]): string => {
    const numbers = new CallNumbers()
    return list.map((each) => messageContent(each, numbers)).join('')
  }

  /** The paths of all members, those of calls and parts included. */
  const paths = (value: Json, above: readonly string[] = []): readonly (readonly string[])[] =>
    typeof value !== 'object' || value === null
      ? [above]
      : Object.entries(value).flatMap(([name, member]) => [[...above, name], ...paths(member, [...above, name])])

  function changed(value: Json, [name, ...rest]: readonly string[]): Json {
    if (name === undefined) return value === true ? false : 'changed'
    const container = value as JsonObject
    const member = changed(container[name]!, rest)
    return Array.isArray(value) ? value.with(Number(name), member) : { ...container, [name]: member }
  }

  test.each(messages)('$role: every member, in any order', (message) => {
    const content = contentOf([message])
    expect(contentOf([turned(message as unknown as Json) as unknown as Message])).toBe(content)
    for (const path of paths(message as unknown as Json)) {
      const isIdOfCall = path.join('.') === 'calls.0.id'
      const isMadeOfMembers = !['string', 'boolean'].includes(
        typeof path.reduce<Json>((at, name) => (at as JsonObject)[name]!, message as unknown as Json),
      )
      if (isMadeOfMembers || path[0] === 'role') continue
      const other = contentOf([changed(message as unknown as Json, path) as unknown as Message])
      expect(other === content, path.join('.')).toBe(isIdOfCall)
    }
  })

  test('a result belongs to its call, under any call id', () => {
    const said = (id: string, other: string, answered: string): string =>
      contentOf([
        { role: 'assistant', content: '', calls: [id, other].map((each) => ({ id: each, name: 'read', input: 1 })) },
        { role: 'tool', callId: answered, name: 'read', content: 'x' },
      ])
    expect(said('a', 'b', 'a')).toBe(said('c', 'd', 'c'))
    expect(said('a', 'b', 'a')).not.toBe(said('a', 'b', 'b'))
  })

  test('no text of a message passes for another message', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 3 }), fc.array(message, { maxLength: 3 }), (one, other) => {
        expect(contentOf(one) === contentOf(other)).toBe(
          canonical(one as unknown as Json) === canonical(other as unknown as Json),
        )
      }),
    )
    const forged: Message = { role: 'user', content: 'x"assistant "y' }
    expect(contentOf([forged])).not.toBe(
      contentOf([
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'y' },
      ]),
    )
  })
})

test('canonical text is JSON: of numbers and texts as JSON.stringify writes them', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.double(), fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null), fc.maxSafeInteger()),
      (leaf) => {
        expect(canonical(leaf)).toBe(JSON.stringify(leaf))
      },
    ),
    { examples: [[-0], [Number.NaN], [Number.POSITIVE_INFINITY], [1e21], [5e-324]] },
  )
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

const edge = fc.record({
  brief: fc.record({ input: json }),
  depth: fc.nat(3),
  maxDepth: fc.nat(5),
  permissions: fc.record({ tools: fc.array(word) }),
  limits: fc.record({ turns: fc.nat(9) }),
  oversight: fc.record({ mode: fc.constantFrom('in-command', 'on-the-loop') }),
  metadata: object,
  context: fc.array(fc.record({ role: fc.constant('user'), text: word })),
})

describe('the key of a worker', () => {
  test('differs with the agent, its version, the brief and each part of the policy', () => {
    fc.assert(
      fc.property(edge, edge, word, (one, other, name) => {
        const key = keyOf(workerContent('w', '1', one))
        expect(keyOf(workerContent('w', '1', turned(one)))).toBe(key)
        expect(keyOf(workerContent(`w${name}`, '1', one))).not.toBe(key)
        expect(keyOf(workerContent('w', `1${name}`, one))).not.toBe(key)
        for (const part of Object.keys(one) as (keyof typeof one)[]) {
          const changed = { ...one, [part]: other[part] } as unknown as JsonObject
          expect(keyOf(workerContent('w', '1', changed)) === key, part).toBe(
            canonical(changed) === canonical(one as unknown as Json),
          )
        }
      }),
    )
  })

  test('holds nothing of the run: no ids, delegation names, approvals or earlier failures', () => {
    fc.assert(
      fc.property(edge, word, word, (given, id, other) => {
        const inRun = (run: string): JsonObject => ({
          ...given,
          permit: `act_${run}`,
          delegation: `d${run.length}`,
          threads: [run],
          failures: run.length,
          admitted: true,
          asks: { leader: `act_${run}` as ActivationId },
          assignment: {
            leader: `act_${run}`,
            member: run,
            role: 'r',
            task: 't',
            inputs: { a: { status: 'completed', output: 1, usage: [{ calls: run.length }] } },
          },
          entries: [
            { agent: 'a', message: { role: 'assistant', content: '', calls: [{ id: run, name: 'read', input: 1 }] } },
            { agent: 'a', message: { role: 'tool', callId: run, name: 'read', content: 'x' } },
          ],
        })
        expect(keyOf(workerContent('w', '1', inRun(id)))).toBe(keyOf(workerContent('w', '1', inRun(other))))
        const { asks: _asks, ...unasked } = inRun(id)
        expect(keyOf(workerContent('w', '1', unasked))).not.toBe(keyOf(workerContent('w', '1', inRun(id))))
      }),
    )
  })
})

test('the key of a question is that of what a human is shown: not of its id, its deadline or its place', () => {
  fc.assert(
    fc.property(json, json, word, word, (input, context, reason, id) => {
      const asked: ApprovalRequested = {
        type: 'approval.requested',
        op: 'ask',
        address: 'a',
        id: 'apr_1',
        path: ['boss'],
        tool: 'pay',
        toolVersion: '1',
        input,
        inputHash: digestJson(input),
        reason,
        risk: 'low',
        onTimeout: 'reject',
        context,
      }
      const key = keyOf(questionContent(asked))
      expect(
        keyOf(questionContent({ ...asked, id, until: 5, address: id, callId: id, follows: id } as ApprovalRequested)),
      ).toBe(key)
      for (const part of [
        { input: [input] },
        { reason: `${reason}.` },
        { toolVersion: '2' },
        { context: [context] },
        { risk: 'high' as const },
        { path: ['w'] },
      ])
        expect(keyOf(questionContent({ ...asked, ...part })), JSON.stringify(part)).not.toBe(key)
    }),
  )
})
