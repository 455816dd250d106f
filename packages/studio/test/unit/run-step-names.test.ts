/** Steps of Reeve have names for people: each one that the journals and the source know has its row. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { decode } from '@reeve/journal'
import { isDeadline, isOfEngine, spanLabel, stepName, stepText, timerText } from '../../src/pages/run/step-names.ts'

const root = join(import.meta.dirname, '../../../..')
const filesIn = (folder: string, ends: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).flatMap((file) =>
    file.endsWith(ends) ? [join(root, folder, file)] : [],
  )

test.each([
  ['planning#1/plan#1', 'Plans'],
  ['work/begin#3/gate#2', 'Checks which tasks may begin'],
  ['session/value.update:$turn.0', 'Writes a value of the session'],
  ['turn#2/call#1/delegate/onStart', 'Hook: onStart'],
  ['turn/isComplete/score:short', 'Scores: short'],
  ['!cancel/undo1/undo', 'Undoes undo1'],
  // those of a user are theirs
  ['first#1', 'first'],
  ['look', 'look'],
  ['branch#2/look', 'look'],
  ['plan', 'plan'],
  ['pay%21%2fnow#2', 'pay!/now'],
])('the step at %s is called: %s', (address, label) => {
  expect(stepName(address).label).toBe(label)
  expect(spanLabel({ kind: 'step', name: address })).toBe(label)
})

test('what only the engine cares about, and what only bounds other work, is told apart', () => {
  expect(isOfEngine({ kind: 'step', name: 'work/begin#1/gate' })).toBe(true)
  expect(isOfEngine({ kind: 'step', name: 'gate' })).toBe(false)
  expect(isOfEngine({ kind: 'tool', name: 'work/begin#1/gate' })).toBe(false)
  expect(isDeadline({ kind: 'timer', name: 'work/a/timeout#2' })).toBe(true)
  expect(isDeadline({ kind: 'tool', name: 'timeout' })).toBe(false)
  expect([stepText('planning/plan'), stepText('first'), timerText('mail'), timerText('mine')]).toEqual([
    'plans',
    'does first',
    'waits for mail',
    'waits for a timer',
  ])
})

describe('a step of Reeve without a name is found', () => {
  test('in the journals that are kept', () => {
    const addresses = filesIn('test/replay/golden', '.jsonl').flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .flatMap((line) => (JSON.parse(line) as { readonly log: readonly { readonly body: string }[] }).log)
        .map(({ body }) => decode(body))
        .flatMap((event) => (event.type === 'step.begun' || event.type === 'timer.set' ? [event.address] : [])),
    )
    expect(addresses.length).toBeGreaterThan(100)
    // code of the scenarios has no scope, but for two segments
    const ofReeve = addresses.filter((address) => address.includes('/') && !/^@\d/.test(address))
    expect([...new Set(ofReeve)].filter((address) => !stepName(address).isKnown)).toEqual([])
  })

  test('in the source', () => {
    const packages = ['agent', 'team', 'supervisor', 'flow', 'oversight', 'runtime', 'workers']
    const begins =
      /(?:\bstep\(\s*[\w.#()']+,|\.begin\(|\bcallHook(?:<[^(]*>)?\(\s*[\w.#()']+,|[cC]tx\.ask\(|[sS]cope\.ask\()\s*(?:'([^']+)'|`([^`$]+))/g
    const found = packages.flatMap((name) =>
      filesIn(`packages/${name}/src`, '.ts').flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(begins)].flatMap(([, text, template]) => [text ?? template ?? '']),
      ),
    )
    expect(found.length).toBeGreaterThan(15)
    // questions to people, and calls of models, are no steps; a job of an external agent is the work of its agent
    const others = new Set(['interrupt', 'model', 'work', 'abandon'])
    const scopes = ['x', 'x/begin', 'x/planning', 'x/session', 'x/until', 'x/room', 'x/compaction', 'x/staff']
    const isKnown = (name: string): boolean => scopes.some((scope) => stepName(`${scope}/${name}`).isKnown)
    expect([...new Set(found)].filter((name) => !others.has(name) && !isKnown(name))).toEqual([])
  })
})
