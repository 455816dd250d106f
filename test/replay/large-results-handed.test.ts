/**
 * Large results that a flow or a planned team hands on, with the process dying at every point where it can: the reader is
 * told the same, and what was kept is not kept again.
 */
import { describe, expect } from 'vitest'
import { agent } from '@reeve/agent'
import { asText } from '@reeve/core'
import { parallel, sequential } from '@reeve/flow'
import type { ModelAnswerInput, ModelRequest } from '@reeve/model'
import { team } from '@reeve/team'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const long = 'a line of the log\n'.repeat(2_000)
const limits = { resultTokens: 200 }

/** Counts the lines of what it is told of, then answers with that. */
const counts = ({ messages }: ModelRequest): ModelAnswerInput | string => {
  const said = messages.flatMap((each) => (each.role === 'tool' ? [asText(each.content)] : []))
  if (said.length > 0) return said.join(' + ')
  const names = new Set(
    messages.flatMap(({ content }) => asText(content as string).match(/result-[0-9a-f]{32}/g) ?? []),
  )
  return { calls: [...names].map((result) => ({ name: 'read_large_result', input: { result, count: true } })) }
}
const writer = (name: string, more = '') =>
  agent({ name, description: 'Answers at length.', run: async () => long + more })
const reader = agent({ name: 'reader', description: 'Reads.', model: counts, limits })
const counted = (lines: RegExp) => ({ status: 'completed', output: expect.stringMatching(lines) as string })

describe('large results that are handed on', () => {
  diesEverywhere(
    teamScenario({
      name: 'a pipeline hands on a large answer',
      agents: [sequential({ name: 'line', agents: [writer('writer'), reader] })],
      input: 'go',
    }),
    counted(/^\[result-\w+: 36000 characters, 2001 lines\]$/),
    8,
  )
  diesEverywhere(
    teamScenario({
      name: 'large answers of branches are joined and read',
      agents: [
        sequential({
          name: 'line',
          agents: [parallel({ name: 'both', agents: [writer('one'), writer('two', '2')] }), reader],
        }),
      ],
      input: 'go',
    }),
    counted(/36000 characters, 2001 lines\] \+ \[result-\w+: 36001 characters/),
  )
  diesEverywhere(
    teamScenario({
      name: 'a task depends on a large result of a plan',
      agents: [
        team({
          name: 'analysts',
          roles: { writer: writer('writer'), reader },
          planner: {
            subtasks: [
              { id: 'logs', description: 'Write', role: 'writer' },
              { id: 'count', description: 'Count', role: 'reader', dependencies: ['logs'] },
            ],
          },
          synthesize: agent({ name: 'author', description: 'Answers.', model: counts, limits }),
        }),
      ],
      input: 'go',
    }),
    counted(/36000 characters, 2001 lines\]/),
  )
})
