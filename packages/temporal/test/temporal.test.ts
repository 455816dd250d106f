/**
 * The engine on Temporal as far as it needs no server: its options, wake-ups on their way, and what a server that is
 * away means. With a server: packages/temporal/test/server.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { meaningOf, sdk, serverError } from '../src/errors.ts'
import { setupOf, type TemporalOptions } from '../src/options.ts'
import { TemporalWakeUps, type Failed } from '../src/wake-ups.ts'
import { agent, createRuntime, step } from '@reeve/public'
import { runId, type ReeveError, type RunId } from '@reeve/core'
import { temporal } from '../src/index.ts'
import { freePort } from '../../../test/servers/place.ts'

const store = 'runs.db'
const refusal = (options: unknown): string => {
  try {
    setupOf(options as TemporalOptions)
    return ''
  } catch (thrown) {
    expect((thrown as ReeveError).code).toBe('config.invalid')
    return (thrown as ReeveError).message
  }
}

describe('options', () => {
  test('everything but the store has a default', () => {
    const { server } = setupOf({ store })
    expect(server).toEqual({
      address: '127.0.0.1:7233',
      namespace: 'default',
      taskQueue: 'reeve',
      tls: false,
      apiKey: undefined,
    })
  })

  test('an API key is sent over TLS only', () => {
    expect(setupOf({ store, apiKey: 'secret' }).server.tls).toBe(true)
    expect(refusal({ store, apiKey: 'secret', tls: false })).toMatch(/in the clear/)
  })

  test.each([
    [undefined, /was given undefined/],
    [{}, /store is missing/],
    [{ store: { postgres: 'postgres://u:secret@h/d' } }, /store is an object, expected 'postgres/],
    [{ store: ':memory:' }, /lost with its process/],
    [{ store, adress: 'x' }, /did you mean "address"/],
    [{ store, address: 'http://temporal:7233' }, /expected 'host:port'/],
    [{ store, address: 7233 }, /expected 'host:port'/],
    [{ store, namespace: '' }, /namespace is/],
    [{ store, taskQueue: '/_sys/other' }, /taskQueue is/],
    [{ store, apiKey: 'sec ret' }, /not an API key/],
    [{ store, tls: { serverRootCACertificate: 'secret' } }, /expected its PEM text as bytes/],
    [
      { store, tls: { clientCertPair: { crt: Buffer.from(''), key: 'secret' } } },
      /clientCertPair\.key is not a certificate or key/,
    ],
    [{ store, tls: { cert: 'secret' } }, /cert/],
    [{ store, leaseMs: 0 }, /leaseMs is 0/],
  ])('%j is refused, and no secret of it repeated', (options, message) => {
    expect(refusal(options)).toMatch(message)
    expect(refusal(options)).not.toMatch(/sec ?ret/)
  })

  test('options that have no effect on the store are refused', () => {
    expect(() => temporal({ store: 'postgres://h/d', durability: 'strict' })).toThrow(
      /^temporal: durability is for a store in a file/,
    )
    expect(() => temporal({ store: 'mysql://u:secret@h/d' })).toThrow(/^temporal: store is an address \(mysql:/)
  })
})

describe('wake-ups', () => {
  const runs = (count: number): RunId[] => Array.from({ length: count }, (_, i) => runId(`r${i}`))

  /** Wake-ups whose answers the test gives. */
  function onTheirWay(): {
    readonly wakeUps: TemporalWakeUps
    readonly sent: { readonly run: RunId; readonly answer: (failed?: Failed) => void }[]
    readonly told: (Failed | 'taken')[]
  } {
    const sent: ReturnType<typeof onTheirWay>['sent'] = []
    const told: (Failed | 'taken')[] = []
    const wakeUps = new TemporalWakeUps({
      send: (run) =>
        new Promise((resolve, reject) => {
          sent.push({ run, answer: (failed) => (failed === undefined ? resolve() : reject(new Error(failed))) })
        }),
      meaning: (thrown) => (thrown as Error).message as Failed,
      tell: (thrown) => told.push(thrown === undefined ? 'taken' : ((thrown as Error).message as Failed)),
    })
    return { wakeUps, sent, told }
  }

  test('go out together, so many at once, and one that waits is sent once', async () => {
    const { wakeUps, sent } = onTheirWay()
    wakeUps.wake(runs(100))
    wakeUps.wake(runs(100))
    const first = sent.length
    expect(first).toBeLessThan(100)
    // those that were on their way when they were woken again go once more
    for (let i = 0; i < 100 + first; i++) {
      await expect.poll(() => sent.length).toBeGreaterThan(i)
      sent[i]!.answer()
    }
    await wakeUps.close()
    expect(sent).toHaveLength(100 + first)
    expect(new Set(sent.map(({ run }) => run)).size).toBe(100)
  })

  test('are not sent while the server is away, and once each when it is asked again', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { wakeUps, sent, told } = onTheirWay()
    wakeUps.wake(runs(100))
    for (const { answer } of sent.splice(0)) answer('away')
    await vi.advanceTimersByTimeAsync(1_000)
    expect([sent.length, new Set(told)]).toEqual([0, new Set(['away'])])
    await vi.advanceTimersByTimeAsync(10_000)
    // still away, then back
    for (const { answer } of sent.splice(0)) answer('away')
    await vi.advanceTimersByTimeAsync(10_000)
    const taken = new Set<RunId>()
    while (sent.length > 0) {
      for (const { run, answer } of sent.splice(0)) {
        expect(taken.has(run)).toBe(false)
        taken.add(run)
        answer()
      }
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(taken.size).toBe(100)
    await wakeUps.close()
  })

  test('keep no process from closing while the server is away', async () => {
    const { wakeUps, sent, told } = onTheirWay()
    wakeUps.wake(runs(100))
    const lost = sent.splice(0)
    for (const { answer } of lost) answer('away')
    await expect.poll(() => told.length).toBe(lost.length)
    wakeUps.wake(runs(2))
    for (const { answer } of sent) answer()
    await wakeUps.close()
    expect(sent).toHaveLength(2)
    expect(new Set(told)).toEqual(new Set(['away', 'taken']))
  })

  test('come again to a server that is busy, and not to one that refuses', async () => {
    const { wakeUps, sent, told } = onTheirWay()
    wakeUps.wake(runs(2))
    sent[0]!.answer('busy')
    sent[1]!.answer('refused')
    await expect.poll(() => sent.length).toBe(3)
    expect(sent[2]!.run).toBe('r0')
    sent[2]!.answer()
    await wakeUps.close()
    wakeUps.wake(runs(2))
    expect([sent.length, told]).toEqual([3, ['refused', 'taken']])
  })
})

describe('what a server says', () => {
  const { server } = setupOf({ store, apiKey: 'sesame' })
  const wrapped = (code: number, details: string): Error =>
    new Error('Failed to signalWithStart Workflow', {
      cause: Object.assign(new Error(`${code} ${details}`), { code, details }),
    })

  test.each([
    [14, 'connection refused', 'away', 'engine.unreachable', true],
    [4, 'deadline', 'away', 'engine.unreachable', true],
    [8, 'workflow is closing', 'busy', 'engine.unreachable', true],
    [5, 'no such namespace', 'refused', 'config.invalid', false],
    [7, 'not allowed', 'refused', 'engine.not-authorized', false],
    [16, 'who are you', 'refused', 'engine.not-authorized', false],
    [3, 'too many signals', 'refused', 'engine.unreachable', true],
  ])('code %i is told as what it means', (code, details, meaning, told, retryable) => {
    const error = serverError(wrapped(code, details), server)
    expect([meaningOf(wrapped(code, details)), error.code, error.retryable]).toEqual([meaning, told, retryable])
    expect(error.message).not.toContain('sesame')
  })

  test('a package that is missing is said with what to install', async () => {
    const error = await sdk('@temporalio/not-there').catch((thrown: unknown) => thrown as ReeveError)
    expect(error).toMatchObject({
      code: 'config.invalid',
      message: 'the package @temporalio/not-there is not installed',
      hint: expect.stringContaining('npm install @temporalio/client'),
    })
    expect(meaningOf(error)).toBe('refused')
  })
})

test('K2: without a server runs go on by themselves, and one warning says that it is away', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-temporal-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const warnings: string[] = []
  const engine = temporal({
    store: join(dir, 'runs.db'),
    address: `127.0.0.1:${await freePort()}`,
    onWarning: (code) => warnings.push(code),
  })
  const walker = agent({ name: 'walker', run: (ctx) => step(ctx, 'walk', () => 'there') })
  await using runtime = await createRuntime({ engine, agents: [walker] })
  expect(await runtime.run(walker, 'go')).toMatchObject({ status: 'completed', output: 'there' })
  expect(warnings).toEqual(['engine.unreachable'])
}, 30_000)
