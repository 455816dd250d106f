/**
 * The text so far beside what else moves a run: hedges, pauses, forks, child runs, calls that are made again, two calls
 * of one agent at once. An early reader and a late one end with the same text; of an attempt that was given up, nobody
 * is told anything any more (K9).
 */
import { afterEach, expect, test } from 'vitest'
import type { MiddlewareHooks } from '../../agent/src/extensions/middleware.ts'
import { agent, type Agent } from '@reeve/agent'
import { withdrawnMark } from '@reeve/core'
import type { ModelFunction } from '@reeve/model'
import type { Run, Runtime } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'
import { model, partsOf, stop, text, textOf, type Stop } from './speech.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

async function opened(root: Agent): Promise<Runtime> {
  const runtime = await runtimeUnderTest({ agents: [root] })
  open.push(runtime)
  return runtime
}
const begun = async (root: Agent): Promise<Run> => (await (await opened(root)).start(root, 'go')) as Run

/** What two readers of a run have, of whom one begins at each stop. */
async function earlyAndLate(run: Run, first: Stop, second: Stop): Promise<string[]> {
  await first.reached
  const early = textOf(run)
  first.goOn()
  await second.reached
  const late = textOf(run)
  second.goOn()
  return Promise.all([early, late])
}

const poet = (speaks: ModelFunction, ...middleware: readonly MiddlewareHooks[]): Agent =>
  agent({ name: 'poet', description: 'Writes verse.', model: speaks, middleware })

/** A model of which each call has a script of its own, the last one for all that follow. */
function inTurn(...scripts: readonly ModelFunction[]): ModelFunction {
  let asked = 0
  return (request) => scripts[Math.min(asked++, scripts.length - 1)]!(request)
}
const delegates: ModelFunction = () => ({
  calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'A verse' } }],
})

test('a hedge: what the loser says after it was stopped is shown to nobody', async () => {
  const [slow, slowGoesOn, quick, end] = [stop(), stop(), stop(), stop()]
  const run = await begun(
    supervisor({
      name: 'editor',
      model: inTurn(delegates, model([end], 'done')),
      workers: [
        poet(
          inTurn(
            // it does not listen to its signal
            model([text('slow '), slow, text('late '), slowGoesOn], 'slow late'),
            model([text('quick '), quick, text('end')], 'quick end'),
          ),
        ),
      ],
      delegation: { workers: { poet: { hedge: { afterMs: 20 } } } },
    }),
  )
  await slow.reached
  const early = textOf(run, { agent: 'poet' })
  const earlyParts = partsOf(run, { agent: 'poet' })
  await quick.reached
  const middle = textOf(run, { agent: 'poet' })
  quick.goOn()
  await end.reached
  const late = textOf(run, { agent: 'poet' })
  slow.goOn()
  await slowGoesOn.reached
  end.goOn()
  // both are the poet: of each, what it said while it raced
  expect([await early, await middle, await late]).toEqual(['slow quick end', 'slow quick end', 'quick end'])
  expect(String(await earlyParts)).not.toContain('late')
})

test('a pause that stops the call: its text is withdrawn, and that of the call that is made after it follows', async () => {
  const [first, goesOn, second, stopped] = [stop(), stop(), stop(), stop()]
  const run = await begun(
    poet(
      inTurn(
        (request) => {
          request.signal.addEventListener('abort', () => void stopped.pass())
          return model([text('one '), first, text('two '), goesOn], 'one two')(request)
        },
        model([text('new '), second, text('end')], 'new end'),
      ),
    ),
  )
  await first.reached
  const early = textOf(run)
  const earlyParts = partsOf(run)
  await run.control.pause({ at: 'now' })
  await stopped.reached
  const stopping = textOf(run)
  first.goOn()
  await goesOn.reached
  goesOn.goOn()
  await expect.poll(async () => (await run.view()).status).toBe('paused')
  const paused = textOf(run)
  await run.control.resume()
  await second.reached
  const late = textOf(run)
  second.goOn()
  expect(await early).toBe(`one ${withdrawnMark}new end`)
  expect([await stopping, await paused, await late]).toEqual(['new end', 'new end', 'new end'])
  expect(String(await earlyParts)).not.toContain('two')
})

test('a pause that lets the call end: the text goes on', async () => {
  const middle = stop()
  const run = await begun(poet(model([text('one '), middle, text('two')], 'one two')))
  await middle.reached
  const early = textOf(run)
  await run.control.pause()
  const late = textOf(run)
  middle.goOn()
  expect([await early, await late]).toEqual(['one two', 'one two'])
})

test('a fork in the middle of a call: the text of its own call, and nothing of that of its origin', async () => {
  const [first, second] = [stop(), stop()]
  const root = poet(
    inTurn(model([text('one '), first, text('old')], 'one old'), model([text('two '), second, text('new')], 'two new')),
  )
  const runtime = await opened(root)
  const run = (await runtime.start(root, 'go')) as Run
  await first.reached
  const early = textOf(run)
  const fork = await runtime.fork({ run: run.id })
  const forkEarly = textOf(fork)
  await second.reached
  const [late, forkLate, forkParts] = [textOf(run), textOf(fork), partsOf(fork)]
  first.goOn()
  second.goOn()
  expect([await early, await late, await forkEarly, await forkLate]).toEqual([
    'one old',
    'one old',
    'two new',
    'two new',
  ])
  expect(String(await forkParts)).not.toMatch(/one|old/)
})

test('a worker that is placed apart: its text is its own run’s, early and late', async () => {
  const middle = stop()
  const root = supervisor({
    name: 'editor',
    model: inTurn(delegates, model([text('done')], 'done')),
    workers: [poet(model([text('one '), middle, text('two')], 'one two'))],
    delegation: { workers: { poet: { place: 'apart' } } },
  })
  const runtime = await opened(root)
  const run = (await runtime.start(root, 'go')) as Run
  const early = [textOf(run), textOf(run, { agent: 'poet' })]
  await middle.reached
  const [child] = await runtime.runs({ childrenOf: run.id })
  const apart = runtime.handle(child!.run)
  const late = [textOf(run), textOf(run, { agent: 'poet' })]
  const own = [textOf(apart), textOf(apart, { agent: 'poet' }), textOf(apart, { path: ['editor', 'poet'] })]
  middle.goOn()
  expect([await Promise.all(early), await Promise.all(late)]).toEqual([
    ['done', ''],
    ['done', ''],
  ])
  expect(await Promise.all(own)).toEqual(['one two', 'one two', 'one two'])
  expect([await textOf(apart), await textOf(run, { agent: 'poet' })]).toEqual(['one two', ''])
})

test('a middleware that asks again: nothing of the rejected answer', async () => {
  const [first, second] = [stop(), stop()]
  const run = await begun(
    poet(
      inTurn(
        model([text('bad '), first, text('old')], 'bad old'),
        model([text('good '), second, text('new')], 'good new'),
      ),
      {
        name: 'picky',
        afterModel: (answer) => (answer.text.startsWith('bad') ? { again: 'better, please' } : undefined),
      },
    ),
  )
  expect(await earlyAndLate(run, first, second)).toEqual(['good new', 'good new'])
})

test('a model that asks its provider again within one call: what is no part of its answer is withdrawn', async () => {
  const [first, second] = [stop(), stop()]
  const run = await begun(poet(model([text('bad '), first, text('good '), second, text('end')], 'good end')))
  expect(await earlyAndLate(run, first, second)).toEqual(
    Array.from({ length: 2 }, () => `bad good end${withdrawnMark}good end`),
  )
})

test('a leader that answers a worker in the background during its own turn: each of both texts once', async () => {
  const [turn, rest, aside] = [stop(), stop(), stop()]
  const own = inTurn(
    delegates,
    model([text('I wait '), turn, text('for it '), rest, text('now. ')], 'I wait for it now. '),
    model([text('Done.')], 'Done.'),
  )
  const run = await begun(
    supervisor({
      name: 'editor',
      workers: [
        poet(
          inTurn(() => ({ calls: [{ name: 'ask_supervisor', input: { question: 'Which colour?' } }] }), model([], '')),
        ),
      ],
      delegation: { questions: true, background: { workers: ['poet'] } },
      model: (request) =>
        /asks you a question/.test(JSON.stringify(request.messages.at(-1)))
          ? model([text('Blue '), aside, text('sky. ')], 'Blue sky. ')(request)
          : own(request),
    }),
  )
  await turn.reached
  await aside.reached
  const early = textOf(run)
  turn.goOn()
  await rest.reached
  const late = textOf(run)
  aside.goOn()
  for await (const { event } of run.events())
    if (event.type === 'fact.noted' && event.name === 'question.answered') break
  rest.goOn()
  const texts = [await early, await late]
  for (const all of texts)
    for (const piece of ['I wait ', 'for it ', 'now. ', 'Blue ', 'sky. ', 'Done.'])
      expect(all.split(piece), `${piece} in ${all}`).toHaveLength(2)
})
