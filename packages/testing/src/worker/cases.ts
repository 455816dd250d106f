/**
 * Cases of the worker contract: for each claim what a worker is to do, and what must be true of it.
 *
 * Owns: the cases as data. Does not own: the stage (stage.ts), the part that the worker plays (part.ts).
 */
import assert from 'node:assert/strict'
import type { Json } from '@reeve/core'
import type { Question } from '@reeve/runtime'
import type { WorkerClaim } from './claims.ts'
import { turnUsage, type ToolUse, type WorkerTurn } from './part.ts'
import type { StageOptions, WorkerStage } from './stage.ts'

/** A case as it is written down. */
export interface WorkerPlay extends StageOptions {
  /** What it shows. With several, all have to be claimed; the result counts for the first. */
  readonly claims: readonly [WorkerClaim, ...WorkerClaim[]]
  readonly name: string
  readonly play: (stage: WorkerStage) => Promise<void>
}

const work = (item: string): WorkerTurn => ({ call: 'work', input: { item } })
const publish = (text: string): WorkerTurn => ({ call: 'publish', input: { text } })
const done: WorkerTurn = { say: 'It is done.' }

/** A text that is easily damaged on its way: quotes, line breaks, braces, other scripts, the end of a tag. */
const delicate = 'Line one "quoted"\n\tline two: {braces} </brief> ünï-çødé 漢字 🐦 \\n'

/** The texts within a value. */
const textsIn = (value: Json): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value as { readonly [name: string]: Json }).flatMap(textsIn)
      : []

/** The same value with one text in it changed. */
const changed = (value: Json, from: string, to: string): Json => {
  if (value === from) return to
  if (Array.isArray(value)) return (value as readonly Json[]).map((member) => changed(member, from, to))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member, from, to)]))
}

/** The arguments that an approver is shown. */
const shownTo = ({ body }: Question): Json => (body as { readonly input: Json }).input

const subjects = (uses: readonly ToolUse[]): readonly string[] => uses.map(({ subject }) => subject)

/** Waits until the worker is at work on an item that is held. */
const atWork = (stage: WorkerStage, item: string): Promise<void> =>
  stage.until(`the worker is at work on "${item}"`, () => stage.world.works(item).length > 0)

/** Waits until the work in flight knows that it is stopped. */
const seesAbort = (stage: WorkerStage): Promise<void> =>
  stage.until('the work in flight has seen its signal', () => stage.world.works('slow')[0]!.aborted)

/** Nothing was begun after the work was stopped, whatever the process still did until it was closed. */
async function nothingFollowed(stage: WorkerStage): Promise<void> {
  await stage.close()
  assert.deepEqual(subjects(stage.world.worked), ['slow'], 'no other work is begun')
  assert.deepEqual(subjects(stage.world.published), [], 'nothing is published')
  assert.equal(stage.world.asked.length, 1, 'its model is not asked again')
}

const stopping = { turns: [work('slow'), work('more'), done] } as const

/** Runs until the worker is at work on `second`, kills the process, and goes on to the end. */
async function killedAtWork(stage: WorkerStage): Promise<{ readonly doubted: boolean }> {
  stage.world.hold('second')
  await stage.start()
  await atWork(stage, 'second')
  await stage.kill()
  stage.world.release('second')
  await stage.begin()
  return { doubted: await stage.endedDoubting() }
}

const surviving = { turns: [work('first'), work('second'), done] } as const

/** All that was done under one key, as far as it was done more than once. */
function sameKey(uses: readonly ToolUse[], what: string): void {
  if (uses.length < 2) return
  assert.ok(
    uses.every(({ key }) => key !== undefined && key !== ''),
    `${what} is repeated without a key`,
  )
  assert.equal(new Set(uses.map(({ key }) => key)).size, 1, `${what} is repeated with another key`)
}

export const workerPlays: readonly WorkerPlay[] = [
  {
    claims: ['brief'],
    name: 'the model is shown the brief',
    turns: [done],
    brief: delicate,
    async play(stage) {
      await stage.start()
      await stage.output()
      const shown = stage.world.asked[0]?.shown ?? ''
      assert.ok(shown.includes(delicate), `its model is shown the brief as it is, not ${JSON.stringify(shown)}`)
    },
  },
  {
    claims: ['result'],
    name: 'an answer is the output',
    turns: [{ say: delicate }],
    async play(stage) {
      await stage.start()
      assert.equal(await stage.output(), delicate)
    },
  },
  {
    claims: ['result'],
    name: 'an answer after a call is the output',
    turns: [work('one'), { say: 'after' }],
    async play(stage) {
      await stage.start()
      assert.equal(await stage.output(), 'after')
      assert.deepEqual(subjects(stage.world.worked), ['one'])
    },
  },
  {
    claims: ['failure'],
    name: 'a model that fails',
    turns: [{ fail: 'the model is out of order' }],
    async play(stage) {
      await stage.start()
      const outcome = await stage.outcome()
      assert.equal(outcome.status, 'failed')
      const message = outcome.status === 'failed' ? outcome.failure.message : ''
      assert.ok(message.includes('the model is out of order'), `the failure says why, not ${JSON.stringify(message)}`)
    },
  },
  {
    claims: ['cancel'],
    name: 'a cancel while its tool is at work',
    ...stopping,
    async play(stage) {
      stage.world.hold('slow')
      await stage.start()
      await atWork(stage, 'slow')
      await stage.run.control.cancel('enough')
      await seesAbort(stage)
      assert.equal((await stage.ended()).status, 'cancelled')
      await nothingFollowed(stage)
    },
  },
  {
    claims: ['timeout'],
    name: 'its time is over while its tool is at work',
    ...stopping,
    timeoutMs: 60_000,
    async play(stage) {
      stage.world.hold('slow')
      await stage.start()
      await atWork(stage, 'slow')
      stage.clock.advance(60_000)
      await seesAbort(stage)
      assert.equal((await stage.outcome()).status, 'timed-out')
      await nothingFollowed(stage)
    },
  },
  {
    claims: ['approval'],
    name: 'an action that is approved',
    turns: [publish(delicate), done],
    async play(stage) {
      await stage.start()
      const question = await stage.question('approval')
      assert.ok(
        textsIn(shownTo(question)).includes(delicate),
        `the approver is shown the exact arguments, not ${JSON.stringify(shownTo(question))}`,
      )
      assert.deepEqual(subjects(stage.world.published), [], 'nothing is done before the decision')
      await stage.run.decide({ approvalId: question.id, decision: 'approve', approver: 'ann' })
      assert.equal(await stage.output(), done.say)
      assert.deepEqual(subjects(stage.world.published), [delicate], 'it is done once, as approved')
    },
  },
  {
    claims: ['approval'],
    name: 'an action that is rejected',
    turns: [publish('a secret'), done],
    async play(stage) {
      await stage.start()
      const question = await stage.question('approval')
      await stage.run.decide({ approvalId: question.id, decision: 'reject', approver: 'ann' })
      await stage.ended()
      await stage.close()
      assert.deepEqual(subjects(stage.world.published), [], 'what was rejected is not done')
    },
  },
  {
    claims: ['edits', 'approval'],
    name: 'an action that an approver has edited',
    turns: [publish('a draft'), done],
    async play(stage) {
      await stage.start()
      const question = await stage.question('approval')
      const input = changed(shownTo(question), 'a draft', 'a better text')
      await stage.run.decide({ approvalId: question.id, decision: 'edit', input, approver: 'ann' })
      await stage.output()
      assert.deepEqual(subjects(stage.world.published), ['a better text'], 'what is done is what was approved')
    },
  },
  {
    claims: ['reasons', 'approval'],
    name: 'the reason of a rejection',
    turns: [publish('a draft'), done],
    async play(stage) {
      await stage.start()
      const { id } = await stage.question('approval')
      await stage.run.decide({ approvalId: id, decision: 'reject', comment: 'not before Monday', approver: 'ann' })
      await stage.output()
      const shown = stage.world.asked.at(-1)!.shown
      assert.ok(shown.includes('not before Monday'), `its model is told the reason, not ${JSON.stringify(shown)}`)
    },
  },
  {
    claims: ['question'],
    name: 'a question to a person',
    turns: [{ ask: 'Which city?' }, done],
    async play(stage) {
      await stage.start()
      const { id, body } = await stage.question('interrupt')
      assert.ok(
        textsIn(body as Json).some((text) => text.includes('Which city?')),
        `the person is shown the question, not ${JSON.stringify(body)}`,
      )
      await stage.run.answer({ interruptId: id, value: 'Riga', by: 'ann' })
      assert.equal(await stage.output(), done.say)
      const shown = stage.world.asked.at(-1)!.shown
      assert.ok(shown.includes('Riga'), `its model is told the answer, not ${JSON.stringify(shown)}`)
    },
  },
  {
    claims: ['usage'],
    name: 'two turns are counted as two',
    turns: [work('one'), done],
    async play(stage) {
      await stage.start()
      const { usage } = await stage.ended()
      const rows = usage.filter(({ agent }) => agent === stage.worker)
      const { model, input, output } = turnUsage
      assert.deepEqual(
        rows.map((row) => [row.model, row.calls, row.input, row.output, row.unknown]),
        [[model, 2, 2 * input, 2 * output, 0]],
      )
    },
  },
  {
    claims: ['streaming'],
    name: 'a piece is shown before the text has ended',
    turns: [{ say: 'The first half, and then the other one.' }],
    async play(stage) {
      stage.world.holdPieces()
      const heard: string[] = []
      const { over } = await stage.startHeard((text) => heard.push(text))
      await stage.until('the first piece is shown', () => heard.length > 0)
      assert.equal((await stage.run.view()).endedAt, undefined)
      stage.world.pieceSeen()
      assert.equal(await stage.output(), 'The first half, and then the other one.')
      await over
      assert.equal(heard.join(''), 'The first half, and then the other one.')
    },
  },
  {
    claims: ['crash'],
    name: 'a kill while its tool is at work',
    ...surviving,
    async play(stage) {
      const { doubted } = await killedAtWork(stage)
      assert.equal(await stage.output(), done.say)
      if (doubted) return
      sameKey(stage.world.works('first'), 'the first call')
      sameKey(stage.world.works('second'), 'the call in flight')
    },
  },
  {
    claims: ['crash', 'approval'],
    name: 'a kill while it waits for an approval',
    turns: [work('first'), publish('a text'), done],
    async play(stage) {
      await stage.start()
      const before = await stage.question('approval')
      await stage.kill()
      await stage.begin()
      const after = await stage.question('approval')
      assert.equal(after.id, before.id, 'it is the same approval')
      assert.deepEqual(shownTo(after), shownTo(before))
      await stage.run.decide({ approvalId: after.id, decision: 'approve', approver: 'ann' })
      assert.equal(await stage.output(), done.say)
      assert.deepEqual(subjects(stage.world.published), ['a text'], 'it is done once')
      assert.equal(stage.world.works('first').length, 1, 'what was done before the approval is not done again')
    },
  },
  {
    claims: ['finished', 'crash'],
    name: 'a kill at the second call does not repeat the first',
    ...surviving,
    async play(stage) {
      await killedAtWork(stage)
      assert.equal(await stage.output(), done.say)
      assert.equal(stage.world.works('first').length, 1, 'the call that had ended is not made again')
      assert.equal(stage.world.asked.filter(({ turn }) => turn === 0).length, 1, 'its model is not asked again')
    },
  },
]
