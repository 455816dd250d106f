/**
 * How a scope turns names into addresses, ids and random numbers, and what it refuses before anything is recorded (K4).
 * The real class over an activation of a few lines.
 */
import { describe, expect, test } from 'vitest'
import { rootActivation, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Command } from '../src/replay/activation-host.ts'
import { openOperation, type Operation } from '../src/replay/operation.ts'
import { RestartRequested, Scope, whereaboutsOf, type Verbs } from '../src/replay/scope.ts'

/** An activation that notes what its scopes ask for. Steps end when the test says so. */
function activation({ recorded = [], run = 'run_1' }: { recorded?: readonly string[]; run?: string } = {}) {
  const id = rootActivation(run as RunId)
  const asked: { readonly address: string; readonly command: Command; readonly scopePath: string }[] = []
  const operations = new Map<string, Operation>()
  const stopped: string[] = []
  const sent: { readonly to: string; readonly id: string; readonly body: Json }[] = []
  const facts: string[] = []
  const started: string[] = []
  const state: { blocked: Error | undefined } = { blocked: undefined }
  const host = {
    callerOf: () => ({}),
    versionOf: () => '1',
    startWorker: (operation: Operation) => started.push(operation.id),
    send: (_from: unknown, to: string, message: string, body: Json) => sent.push({ to, id: message, body }),
  }
  const owner = {
    id,
    opened: 0,
    birth: { agent: 'lead', input: 'Go', path: ['lead'], accounts: [], version: '1', at: 0 },
    clock: 1_000,
    host,
    operations,
    get whereabouts() {
      return whereaboutsOf(owner, host)
    },
    blocked: () => state.blocked,
    open: (address: string, command: Command, scopePath: string, options: Operation['options']) => {
      asked.push({ address, command, scopePath })
      const operation = openOperation(owner, { ...command, address }, undefined, options)
      operations.set(address, operation)
      return operation
    },
    letOut: () => undefined,
    ask: () => undefined,
    wasAsked: (address: string) => recorded.includes(address),
    once: (address: string) => {
      facts.push(address)
      return !recorded.includes(address)
    },
    stop: (what: string) => stopped.push(what),
    restart: () => {
      throw new RestartRequested()
    },
  } as unknown as Verbs
  const end = (address: string): void => {
    operations.get(address)!.ended = true
  }
  const addresses = (): readonly string[] => asked.map(({ address }) => address)
  return { scope: new Scope(owner, '', undefined, '1'), asked, addresses, end, stopped, sent, facts, started, state }
}
const worker = 'act_x' as ActivationId

describe('K4: an address', () => {
  test('is the name, then the ordinal among equals, counted per name', () => {
    const { scope, addresses, end } = activation()
    for (const name of ['think', 'think', 'call', 'think']) end(scope.begin(name, () => null))
    expect(addresses()).toEqual(['think', 'think#1', 'call', 'think#2'])
  })

  test('has the path of its scope in front, nested ones too, and each scope counts for itself', () => {
    const { scope, asked, end } = activation()
    for (let i = 0; i < 2; i++) {
      const turn = scope.scope('turn')
      end(turn.begin('think', () => null))
      end(turn.scope('call').begin('think', () => null))
    }
    expect(asked.map(({ address, scopePath }) => [scopePath, address])).toEqual([
      ['turn/', 'turn/think'],
      ['turn/call/', 'turn/call/think'],
      ['turn#1/', 'turn#1/think'],
      ['turn#1/call/', 'turn#1/call/think'],
    ])
  })

  test('is different for different names, whatever characters they have', () => {
    const { scope, addresses } = activation()
    const names = ['a', 'a#1', 'a/b', '%61', '!send', 'a>b', 'a@b', '\ud800', '\udc00', '']
    for (const name of names) scope.begin(name, () => null)
    scope.scope('a').begin('b', () => null)
    expect(new Set(addresses()).size).toBe(names.length + 1)
    for (const address of addresses()) expect(address.isWellFormed()).toBe(true)
  })

  test('does not depend on what other branches do meanwhile', () => {
    const play = (order: readonly ('left' | 'right')[]): readonly string[] => {
      const { scope, addresses, end } = activation()
      const branches = { left: scope.scope('left'), right: scope.scope('right') }
      for (const side of order) end(branches[side].begin('step', () => null))
      return addresses().toSorted()
    }
    expect(play(['left', 'right', 'left'])).toEqual(play(['right', 'left', 'left']))
  })

  test('of a worker names its activation: below that of its leader', () => {
    const { scope, started } = activation()
    const id = scope.scope('turn').start('writer', 'Go', { name: 'draft' })
    expect(started).toEqual([id])
    expect(id).toBe(`${rootActivation('run_1' as RunId)}>turn/draft`)
  })

  test('of an earlier question is found under its next ordinal only', () => {
    const { scope, end } = activation({ recorded: ['ask', 'ask#1'] })
    expect(scope.wasAsked('ask')).toBe(true)
    end(scope.ask('ask'))
    expect(scope.wasAsked('ask')).toBe(true)
    end(scope.ask('ask'))
    expect(scope.wasAsked('ask')).toBe(false)
    expect(scope.scope('other').wasAsked('ask')).toBe(false)
  })
})

describe('K4: two operations of one name in one scope', () => {
  test('at once are refused, with the address that is in use, and nothing is recorded', () => {
    const { scope, addresses } = activation()
    scope.begin('think', () => null)
    expect(() => scope.begin('think', () => null)).toThrow(
      expect.objectContaining({ code: 'orchestration.address-in-use', message: expect.stringContaining('"think"') }),
    )
    expect(() => scope.ask('think')).toThrow(expect.objectContaining({ code: 'orchestration.address-in-use' }))
    expect(addresses()).toEqual(['think'])
  })

  test('one after the other, or after a stop, or in scopes of their own, are fine', () => {
    const { scope, addresses, end } = activation()
    const first = scope.begin('think', () => null)
    end(first)
    scope.begin('think', () => null)
    scope.scope('a').begin('think', () => null)
    scope.scope('b').begin('think', () => null)
    expect(addresses()).toEqual(['think', 'think#1', 'a/think', 'b/think'])
  })
})

describe('K1: ids and random numbers', () => {
  const draw = (run: string) => {
    const { scope, sent } = activation({ run })
    const inner = scope.scope('turn')
    inner.send(worker, 'hello')
    return [scope.id('del'), scope.id('del'), inner.id('del'), scope.random(), inner.random(), sent[0]!.id]
  }

  test('are the same in a replay, different at each place and in each run', () => {
    expect(draw('run_1')).toEqual(draw('run_1'))
    expect(new Set(draw('run_1')).size).toBe(6)
    for (const [i, value] of draw('run_2').entries()) expect(value).not.toBe(draw('run_1')[i])
  })

  test('time is that of the activation, not that of the machine', () => {
    expect(activation().scope.now().getTime()).toBe(1_000)
  })
})

describe('a message and a fact', () => {
  test('have addresses of their own and are sent only if the journal has them not', () => {
    const { scope, sent, facts } = activation({ recorded: ['%21send.aebd4719'] })
    scope.send(worker, 'recorded already')
    scope.send(worker, 'new')
    scope.emit({ type: 'team.noted' } as never)
    expect(facts).toEqual([
      expect.stringMatching(/^%21send\.\w{8}$/),
      expect.stringMatching(/^%21send\.\w{8}#1$/),
      '%21team.noted',
    ])
    expect(sent.map(({ body }) => body)).toEqual(['new'])
  })
})

describe('before anything is recorded', () => {
  test.each<readonly [string, (scope: Scope) => unknown]>([
    ['an input', (scope) => scope.start('writer', { at: NaN })],
    ['a message', (scope) => scope.send(worker, (() => 1) as unknown as Json)],
    ['a question', (scope) => scope.ask('ask', { as: { type: 'question.asked', of: Infinity } as never })],
  ])('%s that is not JSON is refused', (_what, verb) => {
    const { scope, addresses, facts } = activation()
    expect(() => verb(scope)).toThrow(expect.objectContaining({ code: 'input.not-json' }))
    expect([addresses(), facts]).toEqual([[], []])
  })

  test('an invalid deadline is refused by name', () => {
    const { scope, addresses } = activation()
    expect(() => scope.ask('wait', { until: new Date(NaN) })).toThrow(/timer "wait": invalid time NaN/)
    expect(addresses()).toEqual([])
  })

  test('every verb of a cancelled activation throws the reason', async () => {
    const { scope, state, addresses, facts } = activation()
    state.blocked = new Error('cancelled')
    for (const verb of [
      () => scope.begin('a', () => null),
      () => scope.start('writer', 'Go'),
      () => scope.ask('a'),
      () => scope.send(worker, 'x'),
      () => scope.emit({ type: 'team.noted' } as never),
      () => scope.restart(null),
    ])
      expect(verb).toThrow('cancelled')
    await expect(scope.next()).rejects.toThrow('cancelled')
    expect([addresses(), facts]).toEqual([[], []])
  })
})

describe('stopAll', () => {
  test('reaches the operations of its scope and those below, but no timer and no sibling', () => {
    const { scope, stopped } = activation()
    const branch = scope.scope('branch')
    scope.begin('outside', () => null)
    branch.begin('step', () => null)
    branch.ask('timer', { until: new Date(5_000) })
    branch.scope('deep').begin('step', () => null)
    scope.scope('branch').begin('step', () => null)
    branch.stopAll('enough')
    expect(stopped).toEqual(['branch/step', 'branch/deep/step'])
  })
})
