/**
 * Results that are kept by reference, with the process dying at every point where it can: the model is told the same, and
 * what was done is not done again.
 */
import { describe, expect } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import type { Message, ModelAnswerInput, ModelRequest } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const long = 'a line of the log\n'.repeat(2_000)
const limits = { resultTokens: 200 }
const nameIn = (text: string): string => /result-[0-9a-f]{32}/.exec(text)![0]
const call = (name: string, input: Json): ModelAnswerInput => ({ calls: [{ name, input }] })
const results = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((each) => (each.role === 'tool' ? [asText(each.content)] : []))

/** Calls, then counts the lines of what it was told, then answers with that. */
const counts =
  (name: string, input: Json) =>
  ({ messages }: ModelRequest): ModelAnswerInput | string => {
    const said = results(messages)
    const head = said.find((each) => each.startsWith('[result-'))
    if (said.length === 0) return call(name, input)
    if (head === undefined) return 'not yet'
    const lines = said.find((each) => each.includes(' lines]'))
    return lines ?? call('read_large_result', { result: nameIn(head), count: true })
  }
const counted = { status: 'completed', output: expect.stringMatching(/36000 characters, 2001 lines\]$/) as string }

describe('large results', () => {
  diesEverywhere(
    teamScenario({
      name: 'a large result of a tool',
      agents: [
        agent({
          name: 'reader',
          model: counts('fetch', {}),
          tools: [tool({ name: 'fetch', effect: 'idempotent', execute: () => long })],
          limits,
        }),
      ],
      input: 'go',
    }),
    counted,
    8,
  )
  diesEverywhere(
    teamScenario({
      name: 'a large answer of a worker, read by its leader',
      agents: [
        supervisor({
          name: 'boss',
          model: counts('delegate', { worker: 'w', instructions: 'go' }),
          workers: [agent({ name: 'w', description: 'Answers at length.', run: async () => long })],
          limits,
        }),
      ],
      input: 'go',
    }),
    counted,
  )
  diesEverywhere(
    teamScenario({
      name: 'a large result of a tool in the background',
      agents: [
        agent({
          name: 'reader',
          model: counts('fetch', {}),
          tools: [tool({ name: 'fetch', effect: 'read', background: true, execute: () => long })],
          limits,
        }),
      ],
      input: 'go',
    }),
    counted,
  )
})
