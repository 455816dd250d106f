/** Call ids: one for each call of a conversation, one call for what is repeated under one id. */
import { describe, expect, test } from 'vitest'
import { AnswerIds, withDistinctIds } from '../src/call-ids.ts'
import type { Message } from '@reeve/core'
import type { ModelAnswer } from '../src/index.ts'

const said = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: '',
  calls: ids.map((id) => ({ id, name: 'act', input: {} })),
  reasoning: { model: 'm', parts: ids.map((callId) => ({ type: 'call', callId })) },
})
const result = (callId: string): Message => ({ role: 'tool', callId, name: 'act', content: 'ok' })
const idsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((each) =>
    each.role === 'tool' ? [each.callId] : each.role === 'assistant' ? (each.calls ?? []).map(({ id }) => id) : [],
  )
const answer = (...calls: ModelAnswer['calls']): ModelAnswer => ({ text: '', calls, finish: 'tool-calls', model: 'm' })

describe('a prompt', () => {
  test('whose ids are unique is sent as it is', () => {
    const messages = [said('a'), result('a'), said('b'), result('b')]
    expect(withDistinctIds(messages)).toBe(messages)
  })

  test('in which ids repeat gets others, in calls, results and reasoning; with more behind it, the same ones', () => {
    const messages = [said('0', '1'), result('0'), result('1'), said('0'), result('0'), said('0'), result('0')]
    const sent = withDistinctIds(messages)
    const ids = idsOf(sent)
    expect(ids.slice(0, 4)).toEqual(['0', '1', '0', '1'])
    expect([ids[4], ids[6]]).toEqual([ids[5], ids[7]])
    expect(new Set(ids).size).toBe(4)
    expect(sent[3]).toMatchObject({ reasoning: { parts: [{ type: 'call', callId: ids[4] }] } })
    expect(withDistinctIds([...messages, said('0'), result('0')]).slice(0, messages.length)).toEqual(sent)
  })
})

describe('an answer', () => {
  const ids = (key = 'k'): AnswerIds => new AnswerIds((id) => id === 'a', key)

  test('keeps ids that are free, and gets the same others in every attempt', () => {
    const free = answer({ id: 'b', name: 'act', input: {} })
    expect(ids().answer(free)).toBe(free)
    const taken = answer({ id: 'a', name: 'act', input: {} })
    expect(ids().answer(taken).calls[0]!.id).toMatch(/^call_/)
    expect(ids().answer(taken)).toEqual(ids().answer(taken))
    expect(ids('other').answer(taken)).not.toEqual(ids().answer(taken))
  })

  test('of a model of one’s own that repeats an id: equal calls are one, others get an id', () => {
    const call = { id: 'b', name: 'act', input: { n: 1 } }
    const { calls } = ids().answer(answer(call, call, { ...call, input: { n: 2 } }, { ...call, input: { n: 2 } }))
    expect(calls.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('parts of its stream have the id that its call will have', () => {
    const one = ids()
    const part = one.part({ type: 'tool-input.start', id: 'a', name: 'act' })
    expect(part).toMatchObject({ id: one.answer(answer({ id: 'a', name: 'act', input: {} })).calls[0]!.id })
    expect(one.part({ type: 'text.delta', id: 'a', text: 'x' })).toMatchObject({ id: 'a' })
  })
})
