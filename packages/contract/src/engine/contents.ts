/** Contract: contents. A text is kept beside the journal, once, by its digest, and read within the run. */
import assert from 'node:assert/strict'
import { completed, ReeveError, type ContentRef, type Json, type RunId, runId } from '@reeve/core'
import type { Contents, StepIO } from '@reeve/engine'
import { ended, gate, question, step, until, type Play, type Stage } from './stage.ts'

/** Longer than a piece; with what no store may change, and a character of two halves where pieces meet. */
const long = `\u0000 ${'ab'.repeat(131_070)}\u{1f600}${'\u{1f600}"\\'.repeat(100_000)} end`

/** A step that works with the contents of its run. */
const withContents = (work: (contents: Contents) => Promise<unknown>) => (io: StepIO) =>
  work(io.contents).then((value) => (value ?? null) as Json)
const keeps = (text: string, type: ContentRef['type'] = 'text') => withContents((contents) => contents.keep(text, type))
const slices = (name: string, from: number, to: number) =>
  withContents(async (contents) => {
    try {
      return await contents.slice(name, from, to)
    } catch (thrown) {
      if (ReeveError.is(thrown)) return thrown.code
      throw thrown
    }
  })
const nameOf = (ref: Json): string => (ref as unknown as ContentRef).$content

const fork = async (stage: Stage, run: RunId, at: number): Promise<RunId> => {
  const to = runId(`fork_of_${run}`)
  assert.deepEqual(await stage.engine.fork({ run, at, to }), { created: true })
  return to
}

export const contentCases: readonly Play[] = [
  {
    invariant: 'K1',
    name: 'what is kept is found, and read whole, in parts and in pieces; kept twice it has one name',
    contents: true,
    async play(stage) {
      stage.agent('a', (ctx) =>
        step(
          ctx,
          'keep',
          withContents(async (contents) => {
            const ref = await contents.keep(long, 'text')
            const again = await contents.keep(long, 'text')
            const other = await contents.keep(long, 'json')
            const pieces: string[] = []
            for await (const piece of contents.pieces(ref.$content)) pieces.push(piece)
            const at = 262_140
            return [
              ref.size === long.length && ref.type === 'text',
              JSON.stringify(again) === JSON.stringify(ref),
              other.$content !== ref.$content && other.type === 'json',
              JSON.stringify(await contents.find(ref.$content)) === JSON.stringify(ref),
              pieces.join('') === long && pieces.length > 1 && pieces.every((piece) => piece.length <= 262_144),
              pieces.every((piece) => piece.isWellFormed()),
              (await contents.slice(ref.$content, at, at + 9)) === long.slice(at, at + 9),
              (await contents.slice(ref.$content, 0, Infinity)) === long,
              [
                await contents.slice(ref.$content, long.length - 3, long.length + 9),
                await contents.slice(ref.$content, long.length, long.length + 1),
                await contents.slice(ref.$content, 5, 5),
                await contents.slice(ref.$content, 9, 4),
              ],
              await contents.slice((await contents.keep('', 'text')).$content, 0, 9),
            ]
          }),
        ),
      )
      await stage.drive()
      assert.deepEqual(
        (await stage.play('a')).outcome,
        completed([true, true, true, true, true, true, true, true, ['end', '', '', ''], '']),
      )
    },
  },
  {
    invariant: 'K10',
    name: 'another run’s content is unknown, as what does not exist is',
    contents: true,
    async play(stage) {
      stage.agent('keeper', (ctx) => step(ctx, 'keep', keeps('mine')))
      stage.agent('reader', async (ctx, name) => [
        await step(ctx, 'read', slices(name as string, 0, 9)),
        await step(
          ctx,
          'find',
          withContents((contents) => contents.find(name as string)),
        ),
        await step(ctx, 'none', slices(`result-${'0'.repeat(32)}`, 0, 9)),
        await step(ctx, 'odd', slices('../../etc', 0, 9)),
      ])
      await stage.drive()
      const { outcome } = await stage.play('keeper')
      assert.ok(outcome.status === 'completed')
      const read = await stage.play('reader', nameOf(outcome.output))
      assert.deepEqual(read.outcome, completed(['content.unknown', null, 'content.unknown', 'content.unknown']))
    },
  },
  {
    invariant: 'K1',
    name: 'a run and its child runs read each other’s contents',
    contents: true,
    async play(stage) {
      stage.agent('child', async (ctx, name) => [
        await step(ctx, 'read', slices(name as string, 0, 99)),
        await step(ctx, 'keep', keeps('of the child')),
      ])
      stage.agent('lead', async (ctx) => {
        const ref = await step(ctx, 'keep', keeps('of the leader'))
        const told = await ended(ctx, ctx.start('child', nameOf(ref), { place: 'apart' }))
        assert.ok(told.status === 'completed')
        const [read, own] = told.output as [Json, Json]
        return [read, await step(ctx, 'read', slices(nameOf(own), 0, 99))]
      })
      await stage.drive()
      assert.deepEqual((await stage.play('lead')).outcome, completed(['of the leader', 'of the child']))
    },
  },
  {
    invariant: 'K10',
    name: 'a fork reads what its beginning names, also when its origin is removed, and nothing else of it',
    contents: true,
    async play(stage) {
      let unnamed = ''
      stage.agent('lead', async (ctx) => {
        const first = await step(
          ctx,
          'first',
          withContents(async (contents) => {
            unnamed = (await contents.keep('in no journal', 'text')).$content
            return contents.keep(long, 'text')
          }),
        )
        await ended(ctx, ctx.ask('which', question('int_1')))
        const name = ctx.place.forked === true ? nameOf(first) : nameOf(await step(ctx, 'second', keeps('later')))
        return [name, await step(ctx, 'read', slices(name, 262_140, 262_150), { effect: 'read' })]
      })
      await stage.drive()
      const run = await stage.start('lead')
      const asked = await stage.question(run)
      const at = (await stage.events(run)).find(({ event }) => event.type === 'step.settled')!
      await stage.answer(asked, 'go')
      const first = await stage.outcome(run)
      assert.ok(first.status === 'completed')
      assert.equal((await stage.engine.contents(run).find(unnamed))?.type, 'text')
      const forked = await fork(stage, run, at.position)
      await stage.engine.remove(run)
      await stage.answer(await stage.question(forked), 'go')
      const outcome = await stage.outcome(forked)
      assert.ok(outcome.status === 'completed')
      assert.deepEqual((outcome.output as Json[])[1], long.slice(262_140, 262_150))
      assert.equal(await stage.engine.contents(forked).find(unnamed), undefined)
    },
  },
  {
    invariant: 'K6',
    name: 'a process that dies after content was kept and before its step has ended repeats the step, and keeps it once',
    contents: true,
    restarts: true,
    async play(stage) {
      const held = gate()
      stage.agent('a', async (ctx) => {
        const ref = await step(ctx, 'keep', async (io) => {
          const kept = await io.contents.keep(long, 'text')
          await held.effect(io)
          return kept as unknown as Json
        })
        return [ref, await step(ctx, 'read', slices(nameOf(ref), 0, 9))]
      })
      await stage.drive()
      const run = await stage.start('a')
      await until('it has kept it', () => held.waiting === 1)
      await stage.restart('kill')
      await until('it keeps it again', () => held.attempts.length === 2)
      held.open()
      const outcome = await stage.outcome(run)
      assert.ok(outcome.status === 'completed')
      const [ref, read] = outcome.output as [Json, Json]
      assert.deepEqual([(ref as unknown as ContentRef).size, read], [long.length, long.slice(0, 9)])
    },
  },
]
