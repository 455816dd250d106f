/**
 * Runs in which control is handed on, with their process dying at every point where it can, and once more while the
 * next one recovers; and replayed without an engine.
 */
import { describe } from 'vitest'
import { cancelled, completed, type Outcome } from '@reeve/core'
import { flowScenarios } from './flow-scenarios.ts'
import { diesEverywhere } from './dying.ts'

const ends: Readonly<Record<string, Outcome>> = {
  'an exit in a parallel in a parallel': completed('out'),
  'a handoff that stays over a session': completed('solved'),
  'cancelled while branches under a router ask': cancelled('enough'),
  'cancelled while a pause holds a payment back': cancelled('enough'),
}

describe('a process that dies while control is handed on', () => {
  for (const scenario of flowScenarios) diesEverywhere(scenario, ends[scenario.name] ?? completed('final'), 20)
})
