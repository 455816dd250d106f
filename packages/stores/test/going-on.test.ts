/**
 * Runs that 0.1's Restate engine began go on in a store of today, from an SQLite file and from PostgreSQL, into both:
 * nothing that had ended is done again, nothing is lost.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '@reeve/agent'
import type { RunId } from '@reeve/core'
import { migrateStore, type Migrated } from '../src/migration/index.ts'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { unpack, type Engine } from '@reeve/engine'
import { postgres } from '@reeve/postgres/postgres'
import { decode } from '@reeve/journal'
import { createRuntime, type Run, type Runtime } from '@reeve/runtime'
import { checkJournal, manualClock, type ManualClock } from '@reeve/testing'
import { cast, longMs, longText, lost, type Outside } from './cast.ts'
import { contentOf, freshSchema, journalOf, linesOf, plantFile, plantSchema, recordedAt, type Line } from './plant.ts'

/** Runs of the fixtures. */
const count = 26
const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

describe.each([
  ['sqlite', 'sqlite'],
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
  ['postgres', 'postgres'],
] as const)('from %s into %s', (fromKind, toKind) => {
  const lines: readonly Line[] = linesOf(fromKind)
  const done: string[] = []
  const outside: Outside = { note: (what) => done.push(what), gate: () => Promise.resolve() }
  let clock: ManualClock
  let runtime: Runtime
  let engine: Engine
  let checked: Migrated
  let wasMade = true
  let migrated: Migrated
  let again: Migrated
  let sourceBefore = ''
  let sourceAfter = ''
  const disposed: (() => PromiseLike<void> | void)[] = []
  const run = (id: string): Run => runtime.handle(id)
  const open = (agents: readonly Agent[], store: string, drive = true): Promise<Runtime> => {
    const options = { clock, onWarning: () => {} }
    engine =
      toKind === 'sqlite' ? createEmbeddedEngine({ file: store, ...options }) : postgres({ url: store, ...options })
    return createRuntime({ engine, agents, drive, clock })
  }

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'reeve-migration-'))
    disposed.push(() => rmSync(dir, { recursive: true, force: true }))
    const schema = async (): ReturnType<typeof freshSchema> => {
      const made = await freshSchema()
      disposed.push(() => made[Symbol.asyncDispose]())
      return made
    }
    const file = join(dir, 'events.db')
    const source = fromKind === 'sqlite' ? undefined : await schema()
    if (source === undefined) plantFile(file)
    else await plantSchema(source)
    const content = async (): Promise<string> =>
      hashOf(source === undefined ? readFileSync(file) : await contentOf(source))
    const to = toKind === 'sqlite' ? join(dir, 'reeve.db') : (await schema()).address
    const from = source?.address ?? file
    sourceBefore = await content()
    checked = await migrateStore({ from, to, check: true })
    wasMade = toKind === 'sqlite' && existsSync(to)
    migrated = await migrateStore({ from, to })
    again = await migrateStore({ from, to })
    sourceAfter = await content()
    clock = manualClock(recordedAt(lines) + 60_000)
    runtime = await open([], to, false)
    target = to
  }, 60_000)
  let target = ''
  afterAll(async () => {
    await runtime.close()
    for (const dispose of disposed.toReversed()) await dispose()
  })

  const question = async (id: string): Promise<string> => {
    await expect.poll(async () => (await runtime.questions({ run: id })).length).toBeGreaterThan(0)
    return (await runtime.questions({ run: id }))[0]!.id
  }
  const answer = async (id: string, value: string): Promise<void> =>
    run(id).answer({ interruptId: await question(id), value })
  const approve = async (id: string): Promise<void> => {
    await expect.poll(async () => (await runtime.approvals({ run: id })).length).toBe(1)
    await run(id).decide({
      approvalId: (await runtime.approvals({ run: id }))[0]!.id,
      decision: 'approve',
      approver: 'ann',
    })
  }
  /** What is done of a run from here on. */
  const doing = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const from = done.length
    await work()
    return done.slice(from)
  }

  test('everything is written, once, and the source is as it was', () => {
    const all = { runs: count, written: count, there: 0, streams: 3, refused: [] }
    expect([checked, wasMade]).toEqual([all, false])
    expect(migrated).toEqual(all)
    expect(again).toEqual({ ...all, written: 0, there: count, streams: 0 })
    expect(sourceAfter).toBe(sourceBefore)
  })

  test('K1: every journal is the old one, entry by entry', async () => {
    const blobs = new Map(
      lines.flatMap(({ table, row }) => (table === 'blob' ? [[row['hash'] as string, row['body'] as string]] : [])),
    )
    const ids = lines.flatMap(({ table, row }) => (table === 'run' ? [row['id'] as RunId] : []))
    expect(ids.length).toBe(count)
    for (const id of ids) {
      const old = journalOf(lines, id).map(({ act, seq, at, body, blobs: hashes }) => ({
        activation: act,
        seq: Number(seq),
        at: Number(at),
        event: decode(hashes === null ? (body as string) : unpack(body as string, (hash) => blobs.get(hash)!)),
      }))
      const feed = await engine.read(id)
      expect(feed.map(({ activation, seq, at, event }) => ({ activation, seq, at, event }))).toEqual(old)
      const positions = feed.map(({ position }) => position)
      expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    }
  })

  test('before a process drives them, runs stand as they stood', async () => {
    const states = new Map((await runtime.runs()).map(({ run: id, status }) => [id as string, status]))
    expect(Object.fromEntries(states)).toMatchObject({
      approval: 'waiting',
      question: 'waiting',
      delegation: 'waiting',
      deadline: 'waiting',
      paused: 'paused',
      human: 'human_control',
      pausing: 'pausing',
      stuck: 'stuck',
      completed: 'completed',
      failed: 'failed',
      cancelled: 'cancelled',
      'session-2': 'queued',
    })
  })

  test('K5, K6: driven, they go on where they were; what had ended is not done again', async () => {
    await runtime.close()
    runtime = await open(cast(outside), target)
    // these need nobody
    expect(await run('end-unread').outcome()).toMatchObject({
      status: 'completed',
      output: { end: 'completed', sum: 'end-unread: sum is done' },
    })
    expect(await run('answered').outcome()).toMatchObject({
      status: 'completed',
      output: { answer: 'unread', before: 'answered: before is done' },
    })
    expect(await run('cancel-unread').outcome()).toMatchObject({ status: 'cancelled' })
    expect(await run('cancel-letter').outcome()).toMatchObject({ status: 'cancelled' })
    expect(await run('working').outcome()).toMatchObject({ status: 'completed', output: 'slowly done' })
    await expect.poll(async () => (await run('pause-unread').view()).status).toBe('paused')
    await expect.poll(async () => (await run('pausing').view()).status).toBe('paused')
    expect(done.toSorted()).toEqual(['answered: after', 'end-unread: sum', 'slow: work'])
  })

  test('those that had ended have their outcomes', async () => {
    expect(await run('completed').outcome()).toMatchObject({ status: 'completed', output: longText('completed') })
    expect(await run('failed').outcome()).toMatchObject({ status: 'failed', failure: { message: 'no luck' } })
    expect(await run('cancelled').outcome()).toMatchObject({ status: 'cancelled' })
  })

  test('K12: the same start again is the same run', async () => {
    await expect(runtime.start('asker', 'question', { runId: 'question', user: 'ada' })).resolves.toMatchObject({
      id: 'question',
    })
    await expect(runtime.start('asker', 'another', { runId: 'question', user: 'ada' })).rejects.toMatchObject({
      code: 'run.conflict',
    })
  })

  test('approvals and questions are decided and answered', async () => {
    expect(
      await doing(async () => {
        await approve('approval')
        expect(await run('approval').outcome()).toMatchObject({ status: 'completed', output: 'it is sent' })
      }),
    ).toEqual(['send {"to":"ann"}'])
    expect(
      await doing(async () => {
        await approve('delegation')
        expect(await run('delegation').outcome()).toMatchObject({
          output: { plan: 'leader: plan is done', end: 'completed', sum: 'leader: sum is done' },
        })
      }),
    ).toEqual(['send {"to":"ann"}', 'leader: sum'])
    for (const id of ['question', 'fork'])
      expect(
        await doing(async () => {
          await answer(id, id)
          expect(await run(id).outcome()).toMatchObject({
            output: { before: 'question: before is done', answer: id, after: 'question: after is done' },
          })
        }),
      ).toEqual(['question: after'])
  })

  test('K8: paused ones are resumed, what a human has is handed back', async () => {
    expect(
      await doing(async () => {
        await run('paused').control.resume()
        expect(await run('paused').outcome()).toMatchObject({ output: { answer: 'answered while paused' } })
      }),
    ).toEqual(['paused: after'])
    expect(
      await doing(async () => {
        await expect(run('human').control.resume()).rejects.toMatchObject({ code: 'run.taken-over' })
        await run('human').control.handBack({ by: 'ann' })
        await answer('human', 'mine no more')
        expect(await run('human').outcome()).toMatchObject({ output: { answer: 'mine no more' } })
      }),
    ).toEqual(['human: after'])
    expect(
      await doing(async () => {
        await run('pausing').control.resume()
        expect(await run('pausing').outcome()).toMatchObject({ output: 'slowly done' })
        await run('pause-unread').control.resume()
        await answer('pause-unread', 'go')
        expect(await run('pause-unread').outcome()).toMatchObject({ output: { answer: 'go' } })
      }),
    ).toEqual(['slow: work', 'pause-unread: after'])
  })

  test('K6: of a `once` effect that was out a human says what became of it', async () => {
    expect(
      await doing(async () => {
        await run('doubt-asked').control.settleDoubt({
          id: await question('doubt-asked'),
          happened: true,
          value: 'by cheque',
        })
        expect(await run('doubt-asked').outcome()).toMatchObject({ output: { paid: 'by cheque' } })
        await run('doubt-new').control.settleDoubt({ id: await question('doubt-new'), happened: false })
        expect(await run('doubt-new').outcome()).toMatchObject({ output: { paid: 'paid' } })
      }),
    ).toEqual(['doubt-new: pay'])
  })

  test('K1: a fork has the values as they were where it begins', async () => {
    const [begun] = await engine.read('values-alone' as RunId)
    const updated = (await engine.read('values-alone' as RunId)).find(
      ({ event }) => event.type === 'step.settled' && event.address.includes('update:count'),
    )
    await runtime.fork({ run: 'values-alone', at: begun!.position, runId: 'values-before' })
    await answer('values-before', 'yes')
    expect(await run('values-before').outcome()).toMatchObject({ output: { count: 1, again: 11 } })
    await runtime.fork({ run: 'values-alone', at: updated!.position, runId: 'values-after' })
    await answer('values-after', 'yes')
    expect(await run('values-after').outcome()).toMatchObject({ output: { count: 1, again: 11 } })
  })

  test('values are there, and a session is continued run by run', async () => {
    await answer('values-alone', 'yes')
    expect(await run('values-alone').outcome()).toMatchObject({
      output: { count: 1, again: 11, keys: ['count', 'kept', 'note values-alone'] },
    })
    await answer('session-1', 'one')
    expect(await run('session-1').outcome()).toMatchObject({ output: { count: 6, again: 16 } })
    await answer('session-2', 'two')
    expect(await run('session-2').outcome()).toMatchObject({
      output: { count: 17, again: 27, keys: ['count', 'kept', 'note session-1', 'note session-2'] },
    })
  })

  test('K11: what was spent stays spent', async () => {
    expect(
      await doing(async () => {
        await answer('spent', 'more')
        await answer('spent', 'and more')
        expect(await run('spent').outcome()).toMatchObject({ status: 'limited' })
      }),
    ).toEqual(['spender: think'])
  })

  test('a planned team goes on with its tasks and its mail', async () => {
    expect(
      await doing(async () => {
        await answer('team', 'yes')
        const outcome = await run('team').outcome()
        expect(outcome.status).toBe('completed')
        const tasks = (
          outcome as unknown as { results: { tasks: { task: string; status: string; output: unknown }[] } }
        ).results.tasks
        expect(tasks.map(({ task, status }) => [task, status])).toEqual([
          ['write', 'succeeded'],
          ['read', 'succeeded'],
          ['end', 'succeeded'],
        ])
        expect(tasks[1]!.output).toMatchObject({ answer: 'yes' })
        expect(JSON.stringify(tasks[1]!.output)).toContain('from outside')
      }),
    ).toEqual(['last: conclude'])
  })

  test('the clock is heard', async () => {
    expect(
      (
        await doing(async () => {
          clock.advance(longMs)
          expect(await run('deadline').outcome()).toMatchObject({ output: { answer: 'nobody said' } })
          expect(await run('sleep').outcome()).toMatchObject({ output: 'sleeper: get up is done' })
        })
      ).toSorted(),
    ).toEqual(['patient: after', 'sleeper: get up'])
  })

  test('what was stuck goes on in a process that has its code', async () => {
    expect((await run('stuck').view()).status).toBe('stuck')
    await runtime.close()
    runtime = await open([...cast(outside), lost(outside)], target)
    expect(
      await doing(async () =>
        expect(await run('stuck').outcome()).toMatchObject({ output: { answer: 'nobody', found: 'found' } }),
      ),
    ).toEqual(['lost: find'])
  })

  test('every journal is sound at its end', async () => {
    for (const { run: id, status } of await runtime.runs()) {
      expect(['completed', 'failed', 'cancelled', 'limited'], id).toContain(status)
      expect(checkJournal(await engine.read(id)), id).toEqual([])
    }
  })
})
