/** Whose a session is, who continues it, and keys that name runs. */
import { afterEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent } from '@reeve/public'
import { ReeveError, runKey } from '@reeve/core'
import type { Runtime, StartOptions } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** What the model of the last call was shown. */
let shown = ''
let calls = 0
const talk = agent({
  name: 'talk',
  description: 'Talks.',
  model: ({ messages }) => {
    calls++
    shown = JSON.stringify(messages)
    return 'ok'
  },
})
const fails = agent({ name: 'fails', description: 'Fails.', run: () => Promise.reject(new Error('no')) })
const stores = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-owners-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'reeve.db')
}
async function runtimeOf(store = stores()): Promise<Runtime> {
  const runtime = await createRuntime({ agents: [talk, fails], store, onWarning: () => {} })
  closing.push(() => runtime.close())
  return runtime
}
const say = (runtime: Runtime, text: string, options: StartOptions): Promise<unknown> =>
  runtime.run('talk', text, options)
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'done'
  } catch (thrown) {
    if (ReeveError.is(thrown)) return thrown.code
    throw thrown
  }
}

describe('a session', () => {
  test('is of the user who began it: another is refused before anything is asked of a model', async () => {
    const runtime = await runtimeOf()
    await say(runtime, 'my secret is 42', { session: 's', user: 'ann' })
    const before = calls
    for (const user of ['bob', undefined, 'Ann', 'ann '])
      expect(await codeOf(say(runtime, 'and?', { session: 's', ...(user === undefined ? {} : { user }) }))).toBe(
        'session.forbidden',
      )
    expect(calls).toBe(before)
    await say(runtime, 'go on', { session: 's', user: 'ann' })
    expect(shown).toContain('my secret is 42')
    // the same name in a tenant is another session
    await say(runtime, 'hello', { session: 's', user: 'bob', tenant: 'acme' })
    expect(shown).not.toContain('my secret is 42')
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'ann', tenant: 'acme' }))).toBe('session.forbidden')
    expect(await runtime.sessions.access({ session: 's' })).toEqual({ session: 's', owner: 'ann', sharedWith: [] })
    expect(await runtime.runs()).toHaveLength(3)
  })

  test('that was begun without a user is the application’s', async () => {
    const runtime = await runtimeOf()
    await say(runtime, 'of the application', { session: 's' })
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'ann' }))).toBe('session.forbidden')
    await say(runtime, 'more', { session: 's' })
    expect(shown).toContain('of the application')
    await runtime.sessions.share({ session: 's', with: ['ann'] })
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'ann' }))).toBe('done')
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'bob' }))).toBe('session.forbidden')
  })

  test('is shared by a call that names whom, and no longer when that is taken back', async () => {
    const runtime = await runtimeOf()
    expect(await codeOf(runtime.sessions.share({ session: 's', with: ['bob'] }))).toBe('session.unknown')
    await say(runtime, 'my secret is 42', { session: 's', user: 'ann', tenant: 'acme' })
    const of = { session: 's', tenant: 'acme' }
    const shared = await runtime.sessions.share({ ...of, with: ['bob', 'eve', 'bob'], by: 'ann' })
    expect(shared).toMatchObject({
      owner: 'ann',
      sharedWith: [
        { user: 'bob', by: 'ann' },
        { user: 'eve', by: 'ann' },
      ],
    })
    await runtime.sessions.share({ ...of, with: ['bob'] })
    expect(await runtime.sessions.access(of)).toEqual(shared)
    await say(runtime, 'and?', { ...of, user: 'bob' })
    expect(shown).toContain('my secret is 42')
    await runtime.sessions.unshare({ ...of, with: ['bob', 'nobody'] })
    expect(await codeOf(say(runtime, 'x', { ...of, user: 'bob' }))).toBe('session.forbidden')
    expect((await runtime.sessions.access(of))?.sharedWith.map(({ user }) => user)).toEqual(['eve'])
    expect(await codeOf(runtime.sessions.share({ ...of, with: [1] as never }))).toBe('input.invalid')
    expect(await codeOf(runtime.sessions.access({ session: 'a/b' }))).toBe('session.invalid')
    expect(await codeOf(runtime.sessions.access({ sesion: 's' } as never))).toBe('input.invalid')
  })

  test('is shared with so many users at most', async () => {
    const runtime = await runtimeOf()
    await say(runtime, 'x', { session: 's', user: 'ann' })
    const share = (from: number, to: number) =>
      codeOf(
        runtime.sessions.share({ session: 's', with: Array.from({ length: to - from }, (_, i) => `u${from + i}`) }),
      )
    expect([await share(0, 1_000), await share(0, 1_000), await share(999, 1_001)]).toEqual([
      'done',
      'done',
      'input.invalid',
    ])
    expect((await runtime.sessions.access({ session: 's' }))?.sharedWith).toHaveLength(1_000)
  })

  test('of two who begin it at once, over two processes, one has it', async () => {
    const at = stores()
    const [one, two] = [await runtimeOf(at), await runtimeOf(at)]
    for (let i = 0; i < 5; i++) {
      const session = `s${i}`
      const codes = await Promise.all([
        codeOf(say(one, 'x', { session, user: 'ann' })),
        codeOf(say(two, 'x', { session, user: 'bob' })),
      ])
      expect(codes.toSorted()).toEqual(['done', 'session.forbidden'])
      const { owner } = (await one.sessions.access({ session }))!
      expect(owner).toBe(codes[0] === 'done' ? 'ann' : 'bob')
    }
  })

  test('with redaction: its owner is kept as it is, and no name that holds a secret is recorded', async () => {
    const at = stores()
    const options = { agents: [talk], store: at, redact: { keys: ['user', 'sharedWith'], values: ['hunter2'] } }
    const runtime = await createRuntime(options)
    closing.push(() => runtime.close())
    await say(runtime, 'x', { session: 's', user: 'ann' })
    await runtime.sessions.share({ session: 's', with: ['bob'] })
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'eve' }))).toBe('session.forbidden')
    expect(await codeOf(say(runtime, 'x', { session: 's', user: 'bob' }))).toBe('done')
    expect(await codeOf(say(runtime, 'x', { session: 's-hunter2', user: 'ann' }))).toBe('input.invalid')
    expect(await codeOf(say(runtime, 'x', { session: 't', user: 'hunter2' }))).toBe('input.invalid')
    expect(await codeOf(runtime.sessions.share({ session: 's', with: ['hunter2'] }))).toBe('input.invalid')
    expect(await runtime.sessions.access({ session: 't' })).toBeUndefined()
    expect(await runtime.sessions.access({ session: 's-hunter2' })).toBeUndefined()
  })

  test('of a fork is of the user of its origin', async () => {
    const runtime = await runtimeOf()
    await say(runtime, 'my secret is 42', { runId: 'r', session: 's', user: 'ann' })
    const fork = await runtime.fork({ run: 'r', runId: 'f', by: 'bob', edit: { type: 'input', input: 'again' } })
    await fork.outcome()
    expect(await runtime.sessions.access({ session: 'f' })).toMatchObject({ owner: 'ann' })
    expect(await codeOf(say(runtime, 'x', { session: 'f', user: 'bob' }))).toBe('session.forbidden')
    expect(await codeOf(say(runtime, 'x', { session: 'f', user: 'ann' }))).toBe('done')
  })

  test('of a fork is a new one: its id names no conversation of anybody', async () => {
    const runtime = await runtimeOf()
    await say(runtime, 'my secret is 42', { session: 's', user: 'ann' })
    await say(runtime, 'hello', { runId: 'r', session: 'own', user: 'bob' })
    await runtime.run('fails', 'hello', { runId: 'failed', session: 'own', user: 'bob' })
    const at = (await runtime.handle('r').journal({ limit: 1 }))[0]!.position
    expect(await codeOf(runtime.fork({ run: 'r', runId: 's', at }))).toBe('run.conflict')
    expect(await codeOf(runtime.retry('failed', { runId: 's' }))).toBe('run.conflict')
    expect(await codeOf(runtime.fork({ run: 'r', runId: 'own', at }))).toBe('run.conflict')
    expect(await runtime.sessions.access({ session: 's' })).toEqual({ session: 's', owner: 'ann', sharedWith: [] })
    // one that was refused for its place keeps nobody from another one
    expect(await codeOf(runtime.fork({ run: 'r', runId: 'f', at: 1_000_000 }))).toBe('fork.invalid')
    expect(await codeOf(runtime.fork({ run: 'r', runId: 'f', at }))).toBe('done')
    expect(await codeOf(runtime.fork({ run: 'r', runId: 'f', at }))).toBe('done')
    await runtime.handle('f').outcome()
    expect(shown).not.toContain('secret')
  })

  test('of a retry is begun by it alone, though its name can be computed', async () => {
    const runtime = await runtimeOf()
    await runtime.run('fails', 'x', { runId: 'r', session: 's', user: 'ann' })
    const { id: session } = runKey('r', 'retry')
    expect(await codeOf(say(runtime, 'x', { session, user: 'bob' }))).toBe('session.invalid')
    const retry = await runtime.retry('r')
    await retry.outcome()
    expect(await runtime.sessions.access({ session })).toMatchObject({ owner: 'ann' })
    expect(await codeOf(say(runtime, 'x', { session, user: 'bob' }))).toBe('session.forbidden')
    expect(await codeOf(say(runtime, 'x', { session, user: 'ann' }))).toBe('done')
  })
})

describe('a key', () => {
  test('names one run, under an id that no caller can give', async () => {
    const runtime = await runtimeOf()
    const key = runKey('orders', 'acme', '7')
    const first = await runtime.start('talk', 'x', { key })
    const again = await runtime.start('talk', 'x', { key })
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id])
    expect(await codeOf(runtime.start('talk', 'y', { key }))).toBe('run.conflict')
    expect(await codeOf(runtime.start('talk', 'x', { runId: first.id }))).toBe('run.invalid-id')
    expect(await codeOf(runtime.fork({ run: first.id, runId: runKey('b').id }))).toBe('run.invalid-id')
    expect(await codeOf(runtime.start('talk', 'x', { key, runId: 'r' }))).toBe('input.invalid')
    expect(first.id).not.toBe((await runtime.start('talk', 'x', { key: runKey('orders', 'acme7', '') })).id)
    const read = await runtime.stream('talk', 'x', { key: runKey('streamed') }).outcome()
    expect(read).toMatchObject({ status: 'completed' })
  })

  test('so does a retry: the second one is the first', async () => {
    const runtime = await runtimeOf()
    await runtime.run('fails', 'x', { runId: 'r' })
    const [first, again] = [await runtime.retry('r'), await runtime.retry('r')]
    expect([first.id, first.created, again.id, again.created]).toEqual([runKey('r', 'retry').id, true, first.id, false])
  })
})
