/**
 * A mistake of a caller is told as theirs: every method of the runtime and of a run, with arguments of wrong types,
 * answers in time, and nothing of it is told as a fault of the store or as one inside Reeve.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ReeveError } from '@reeve/core'
import { agent, type Run, type Runtime } from '@reeve/public'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

const asks = agent({
  name: 'asks',
  description: 'Asks for a value.',
  run: async (ctx) => await ctx.interrupt('value'),
})

/** What a slip leaves in an argument. */
const wrong: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['5', 5],
  ['NaN', Number.NaN],
  ['{}', {}],
  ["''", ''],
  ['[]', []],
  ['{ run }', { run: 'run_1' }],
  ['true', true],
  ['a function', () => 1],
  ['a symbol', Symbol('run')],
  ['an unknown id', 'run_unknown'],
]

type Call = (given: unknown) => unknown

/** Every function below an object, but for those that end or wait for ever by what they are. */
function members(value: object, path: string, without: readonly string[] = []): readonly (readonly [string, Call])[] {
  const own = Object.getPrototypeOf(value) === Object.prototype ? value : Object.getPrototypeOf(value)
  const names = new Set([...Object.getOwnPropertyNames(own), ...Object.keys(value)])
  return [...names].flatMap((name) => {
    if (name === 'constructor' || without.includes(name)) return []
    const member: unknown = Reflect.get(value, name)
    if (typeof member === 'function')
      return [[`${path}.${name}`, (given): unknown => Reflect.apply(member, value, [given])] as const]
    return typeof member === 'object' && member !== null ? members(member, `${path}.${name}`) : []
  })
}

let folder = ''
let runtime: Runtime
let run: Run
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-wrong-'))
  runtime = await runtimeUnderTest({ agents: [asks], store: join(folder, 'wrong.db') })
  run = await runtime.start(asks, 'go')
  await run.until('waiting')
})
afterAll(async () => {
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

/** The errors that say that something else than the call is wrong. */
const othersFault = /^(store\.|request\.failed|engine\.(?!not-driving))/

/** What a call answers: the first item of what can be iterated. */
async function answerOf(call: () => unknown): Promise<unknown> {
  const value = await call()
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value
  const reading = value as AsyncIterableIterator<unknown>
  void Promise.resolve(reading.return?.()).catch(() => undefined)
  return reading.next()
}

/** What is wrong with how a call was answered; undefined where nothing is. */
async function problemOf(call: () => unknown): Promise<string | undefined> {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('no answer within 2 seconds'), 2_000).unref())
  const answered = answerOf(call).then(
    () => undefined,
    (thrown: unknown) => {
      if (!ReeveError.is(thrown)) return `${String(thrown)}, which is no ReeveError`
      return othersFault.test(thrown.code) || thrown.retryable ? `${thrown.code}: ${thrown.message}` : undefined
    },
  )
  return Promise.race([answered, late])
}

test('every method of the runtime tells a wrong argument as the mistake of its caller', async () => {
  const found: string[] = []
  for (const [name, call] of members(runtime, 'runtime', ['close', 'questions', 'approvals']))
    for (const [shown, given] of wrong) {
      const problem = await problemOf(() => call(given))
      if (problem !== undefined) found.push(`${name}(${shown}): ${problem}`)
    }
  expect(found).toEqual([])
})

test('every method of the handle of a wrong id tells so, or refuses the id at once', async () => {
  const found: string[] = []
  for (const [shown, given] of wrong) {
    const names = members(run, 'run', ['id']).map(([name]) => name)
    for (const name of names) {
      const problem = await problemOf(() => {
        const handle = runtime.handle(given as string)
        const call = members(handle, 'run').find(([each]) => each === name)
        return call?.[1](name === 'run.until' ? 'waiting' : undefined)
      })
      if (problem !== undefined) found.push(`handle(${shown}) ${name}: ${problem}`)
    }
  }
  expect(found).toEqual([])
})

test('every method of a run tells a wrong argument as the mistake of its caller', async () => {
  const found: string[] = []
  const waiting = ['run.outcome', 'run.onPart', 'run.control.cancel', 'run.control.pause', 'run.control.takeOver']
  for (const [name, call] of members(run, 'run').filter(([each]) => !waiting.includes(each)))
    for (const [shown, given] of wrong) {
      const problem = await problemOf(() => call(given))
      if (problem !== undefined) found.push(`${name}(${shown}): ${problem}`)
    }
  expect(found).toEqual([])
})

test('a command names the option that has the wrong type, and changes nothing', async () => {
  const { control } = run
  const call = (given: unknown): never => given as never
  const refused: readonly (readonly [what: () => Promise<unknown>, code: string, said: RegExp])[] = [
    [
      () => control.cancel(call({ reason: 'enough' })),
      'input.invalid',
      /^run\.control\.cancel\(\): reason is an object/,
    ],
    [() => control.cancel(call(null)), 'input.invalid', /reason is null, expected a text/],
    [() => control.cancel('enough', call({ undo: false })), 'input.invalid', /by is an object/],
    [() => control.cancel('enough', 'ann', call({ undo: 'no' })), 'input.invalid', /undo is the text "no"/],
    [() => control.cancel('enough', 'ann', call(null)), 'input.invalid', /null/],
    [() => control.pause(call('enough')), 'input.invalid', /the text "enough"/],
    [() => control.pause(call({ reason: {} })), 'input.invalid', /reason is an object/],
    [() => control.resume(call({ by: {} })), 'input.invalid', /by is an object/],
    [() => control.takeOver(call('ann')), 'input.invalid', /the text "ann"/],
    [() => control.takeOver(call({ at: 'once' })), 'input.invalid', /at is the text "once"/],
    [() => control.stop(call({ delegation: 'd1', by: {} })), 'input.invalid', /by is an object/],
    [() => control.settleDoubt(call({ id: 'x', happened: 'no' })), 'interrupt.invalid', /happened is the text "no"/],
    [() => control.settleDoubt(call({ id: 'x', happened: true, by: {} })), 'interrupt.invalid', /by is an object/],
    [() => control.settleDivergence(call({ id: 'x', action: 'go' })), 'interrupt.invalid', /action is the text "go"/],
  ]
  const before = (await run.view()).position
  for (const [what, code, said] of refused)
    await expect(what()).rejects.toMatchObject({ code, message: expect.stringMatching(said) as string })
  expect((await run.view()).position).toBe(before)
  expect((await run.summary()).status).toBe('waiting')
})
