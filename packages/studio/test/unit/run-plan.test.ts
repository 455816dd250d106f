import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planLayout } from '../../src/pages/run/plan-layout.ts'
import {
  changesOf,
  draftOf,
  editOf,
  moved,
  possibleDependencies,
  withChange,
  withoutTask,
  withTask,
  type PlanAsIs,
} from '../../src/pages/run/plan-draft.ts'

describe('the graph of a plan', () => {
  test('a task stands right of all that it depends on', () => {
    const { nodes, edges } = planLayout([
      { task: 'a', dependencies: [] },
      { task: 'b', dependencies: ['a'] },
      { task: 'c', dependencies: ['a', 'b'] },
      { task: 'd', dependencies: [] },
    ])
    expect(nodes.map(({ task, column }) => [task, column])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['d', 0],
    ])
    expect(edges.map(({ from, to }) => `${from}>${to}`)).toEqual(['a>b', 'a>c', 'b>c'])
  })

  test('recruits that joined count as dependencies; unknown names and itself do not', () => {
    const { edges } = planLayout([
      { task: 'a', dependencies: ['a', 'gone'] },
      { task: 'b', dependencies: [], joined: ['a'] },
    ])
    expect(edges.map(({ from, to }) => `${from}>${to}`)).toEqual(['a>b'])
  })

  test('any list of tasks has a layout in which no two tasks share a place', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
    const tasks = fc.uniqueArray(fc.record({ task: name, dependencies: fc.array(name, { maxLength: 4 }) }), {
      selector: ({ task }) => task,
    })
    fc.assert(
      fc.property(tasks, (given) => {
        const { nodes } = planLayout(given)
        expect(nodes).toHaveLength(given.length)
        expect(new Set(nodes.map(({ column, row }) => `${column},${row}`)).size).toBe(given.length)
      }),
    )
  })
})

const plan: PlanAsIs = {
  subtasks: [
    {
      id: 'read',
      description: 'Read',
      role: 'reader',
      status: 'succeeded',
      dependencies: [],
      produces: [],
      consumes: [],
      critical: false,
    },
    {
      id: 'write',
      description: 'Write',
      role: 'writer',
      status: 'pending',
      dependencies: ['read'],
      produces: ['draft'],
      consumes: [],
      critical: false,
      gates: { risk: 'high', requiresApproval: true },
    },
    {
      id: 'send',
      description: 'Send',
      role: 'sender',
      status: 'waiting',
      dependencies: ['write'],
      produces: [],
      consumes: ['draft'],
      critical: true,
    },
  ],
  concurrency: 2,
  maxFailures: 2,
}

describe('the draft of a plan', () => {
  test('a draft that was not changed is no edit', () => {
    expect(editOf(plan, draftOf(plan))).toBeUndefined()
    expect(changesOf(plan, draftOf(plan))).toEqual([])
  })

  test('a changed task keeps its topics and its gates', () => {
    const draft = withChange(draftOf(plan), 'write', { description: 'Write it short' })
    expect(editOf(plan, draft)).toEqual({
      replace: [
        {
          id: 'write',
          description: 'Write it short',
          role: 'writer',
          dependencies: ['read'],
          produces: ['draft'],
          risk: 'high',
          requiresApproval: true,
        },
      ],
    })
    expect(changesOf(plan, draft)).toEqual(['Change what write is about.'])
  })

  test('another role alone replaces nothing of the task', () => {
    expect(editOf(plan, withChange(draftOf(plan), 'write', { role: 'editor' }))).toEqual({ roles: { write: 'editor' } })
  })

  test('a removed task leaves its dependencies to those behind it', () => {
    const draft = withoutTask(draftOf(plan), 'write')
    expect(editOf(plan, draft)).toMatchObject({ remove: ['write'], replace: [{ id: 'send', dependencies: ['read'] }] })
    expect(changesOf(plan, draft)).toEqual(['Remove write.', 'Let send wait for read instead of write.'])
  })

  test('what has begun stays', () => {
    expect(withoutTask(draftOf(plan), 'read')).toEqual(draftOf(plan))
  })

  test('a new task may be renamed, and who depends on it follows', () => {
    const added = withTask(draftOf(plan), 'checker')
    const key = added.tasks.at(-1)!.key
    const behind = withChange(added, 'send', { dependencies: ['write', 'task-4'] })
    expect(editOf(plan, withChange(behind, key, { id: 'check', description: 'Check' }))).toMatchObject({
      add: [{ id: 'check', role: 'checker' }],
      replace: [{ id: 'send', dependencies: ['write', 'check'] }],
    })
  })

  test('only new tasks change places', () => {
    const two = withTask(withTask(draftOf(plan), ''), '')
    const [, , , four, five] = two.tasks
    expect(moved(two, five!.key, -1).tasks.map(({ id }) => id)).toEqual(['read', 'write', 'send', five!.id, four!.id])
    expect(moved(two, four!.key, -1)).toEqual(two)
  })

  test('no task can be made to wait for itself, however far around', () => {
    expect(possibleDependencies(draftOf(plan), 'read')).toEqual([])
    expect(possibleDependencies(draftOf(plan), 'send')).toEqual(['read', 'write'])
  })

  test('numbers are an edit, too', () => {
    const draft = { ...draftOf(plan), concurrency: 4, maxFailures: 1 }
    expect(editOf(plan, draft)).toEqual({ concurrency: 4, maxFailures: 1 })
    expect(changesOf(plan, draft)).toEqual([
      '4 may work at once instead of 2.',
      'Give up at 1 failed tasks instead of 2.',
    ])
  })
})
