/**
 * A conversation led by a ledger: facts, a plan, a look after each round, new plans when it stands still, and how it
 * ends.
 */
import { describe, expect, test } from 'vitest'
import { ledger, roundtable, type LedgerOptions } from '@reeve/public/team'
import { sequential, type Agent } from '@reeve/public'
import type { JournalEvent } from '@reeve/journal'
import type { Message, ModelRequest } from '@reeve/model'
import { lines, user, withoutSystem, worker } from './control.ts'
import { eventsOf, fatal, runtimeOf, scripted, type Scripted } from './team.ts'

interface Look {
  readonly done?: boolean
  readonly loop?: boolean
  readonly progress?: boolean
  readonly next?: string
  readonly say?: string
}

/** The text of a message; empty if it has none. */
const textOf = (message: Message | undefined): string => (typeof message?.content === 'string' ? message.content : '')

/** One look, as a model writes it down. */
const look = ({ done = false, loop = false, progress = true, next = 'coder', say = 'go on' }: Look = {}): string =>
  JSON.stringify({
    is_request_satisfied: { reason: 'r', answer: done },
    is_in_loop: { reason: 'r', answer: loop },
    is_progress_being_made: { reason: 'r', answer: progress },
    next_speaker: { reason: 'r', answer: next },
    instruction_or_question: { reason: 'r', answer: say },
  })

/** A model that leads: it knows by the question what it is asked, and looks as told, one after the other. */
function leading(...looks: (string | Look)[]): Scripted {
  let plans = 0
  let looked = 0
  return scripted((request: ModelRequest) => {
    const question = textOf(request.messages.at(-1))
    if (/survey|write the whole list again/.test(question)) return `facts ${++plans}`
    if (/Answer with the plan only/.test(question)) return `plan ${plans}`
    if (/The request is satisfied/.test(question)) return 'the answer'
    if (/unfinished/.test(question)) return 'the best there is'
    const next = looks[Math.min(looked++, looks.length - 1)]!
    return typeof next === 'string' ? next : look(next)
  })
}

const table = (
  model: Scripted,
  options: Omit<LedgerOptions, 'model'> = {},
  agents?: readonly Agent[],
  maxRounds?: number,
): Agent =>
  roundtable({
    name: 'team',
    agents: agents ?? [worker('coder'), worker('surfer')],
    speaker: ledger({ model, ...options }),
    ...(maxRounds === undefined ? {} : { maxRounds }),
  })

async function led(root: Agent) {
  const run = await (await runtimeOf([root])).start(root, 'the request')
  const outcome = await run.outcome()
  return { run, outcome, events: await eventsOf(run) }
}
const noted = (events: readonly JournalEvent[], name: string): unknown[] =>
  events.flatMap((event) => (event.type === 'fact.noted' && event.name === name ? [event.data] : []))
const speakers = (events: readonly JournalEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'speaker.chosen' ? [event.speaker] : []))

describe('a ledger leads', () => {
  test('facts, plan, one look per round with an instruction, and an answer made of the conversation', async () => {
    const [coder, surfer] = [scripted('code written'), scripted('page found')]
    const model = leading(
      { next: 'surfer', say: 'Find the page.' },
      { next: 'coder', say: 'Write it.' },
      { done: true, next: '' },
    )
    const { outcome, events, run } = await led(table(model, {}, [worker('coder', coder), worker('surfer', surfer)]))
    expect(outcome).toMatchObject({ status: 'completed', output: 'the answer' })
    expect(speakers(events)).toEqual(['surfer', 'coder'])
    expect(noted(events, 'ledger.facts')).toEqual([{ text: 'facts 1', revision: 0 }])
    expect(noted(events, 'ledger.plan')).toEqual([{ text: 'plan 1', revision: 0 }])
    expect(noted(events, 'ledger.progress')).toMatchObject([
      { round: 1, stalls: 0, resets: 0, next_speaker: { answer: 'surfer' } },
      { round: 2, stalls: 0 },
      { round: 3, is_request_satisfied: { answer: true } },
    ])
    const plan = user('What we know:\nfacts 1\n\nOur plan:\nplan 1')
    expect(withoutSystem(surfer.prompts[0])).toEqual([user('the request'), plan, user('Find the page.')])
    expect(withoutSystem(coder.prompts[0])).toEqual([
      user('the request'),
      plan,
      user('For context: [team] said: surfer: Find the page..'),
      user('For context: [surfer] said: page found.'),
      user('Write it.'),
    ])
    expect(await lines(run)).toEqual([
      'surfer team/surfer says: page found',
      'coder team/coder says: code written',
      'team team says: the answer',
    ])
    // it knows what it has said itself
    expect(model.prompts[3]).toContainEqual({ role: 'assistant', content: 'surfer: Find the page.' })
    expect(model.prompts[2]!.at(-1)!.content).toContain('- coder: Does what coder does.')
    expect((await run.view()).usage.find(({ agent }) => agent === 'team')?.calls).toBe(6)
  })

  test('a round without progress or in a loop is a stall, one with progress takes one back; never below none', async () => {
    const model = leading({}, {}, { progress: false }, { loop: true }, {}, { progress: false }, { done: true })
    const { events } = await led(table(model))
    expect(noted(events, 'ledger.progress').map((each) => (each as { stalls: number }).stalls)).toEqual([
      0, 0, 1, 2, 1, 2, 2,
    ])
    expect(noted(events, 'ledger.plan')).toHaveLength(1)
  })

  test('at the stall limit facts and plan are renewed, earlier talk is hidden, and the count restarts', async () => {
    const coder = scripted('first try', 'second try')
    const model = leading({}, { progress: false }, { say: 'try again' }, { done: true })
    const { outcome, events } = await led(table(model, { maxStalls: 1 }, [worker('coder', coder), worker('surfer')]))
    expect(outcome).toMatchObject({ status: 'completed', output: 'the answer' })
    expect(noted(events, 'ledger.plan')).toEqual([
      { text: 'plan 1', revision: 0 },
      { text: 'plan 2', revision: 1 },
    ])
    expect(withoutSystem(coder.prompts[1])).toEqual([
      user('the request'),
      user('What we know:\nfacts 2\n\nOur plan:\nplan 2'),
      user('try again'),
    ])
    // who plans anew knows what was known, and what has happened since
    const again = model.prompts.find((prompt) => /list again/.test(textOf(prompt.at(-1))))!
    expect(again.at(-1)!.content).toContain('facts 1')
    expect(again).toContainEqual(user('For context: [coder] said: first try.'))
  })

  test('a plan that has not begun cannot stall', async () => {
    const { events } = await led(table(leading({ progress: false }, { done: true }), { maxStalls: 1 }))
    expect(noted(events, 'ledger.plan')).toHaveLength(1)
    expect(speakers(events)).toEqual(['coder'])
  })

  test('when the new plans are used up it ends limited, says why, and has the best answer so far', async () => {
    const { outcome, events } = await led(table(leading({ progress: false }), { maxStalls: 1, maxResets: 2 }))
    expect(outcome).toMatchObject({
      status: 'limited',
      limit: 'resets',
      message: 'the work makes no progress, even after 2 new plans',
      partial: 'the best there is',
    })
    expect(noted(events, 'ledger.plan')).toHaveLength(3)
    expect(speakers(events)).toEqual(['coder', 'coder', 'coder'])
    expect(noted(events, 'roundtable.ended')).toEqual([{ why: 'failure', rounds: 3 }])
  })

  test('when the rounds are used up it looks once more: what is done is done, else it is limited', async () => {
    const unfinished = await led(table(leading({}), {}, undefined, 2))
    expect(unfinished.outcome).toMatchObject({
      status: 'limited',
      limit: 'rounds',
      message: '2 rounds are used up, and the request is not satisfied',
      partial: 'the best there is',
    })
    const done = await led(table(leading({}, {}, { done: true }), {}, undefined, 2))
    expect(done.outcome).toMatchObject({ status: 'completed', output: 'the answer' })
    expect((await led(table(leading({})))).events.filter(({ type }) => type === 'speaker.chosen')).toHaveLength(30)
  })

  test('a look that has not the required form is corrected twice; then the table fails and says so', async () => {
    const model = leading('soon', look({ next: 'ghost' }), { next: 'surfer' }, { done: true })
    const { outcome, events } = await led(table(model))
    expect(outcome).toMatchObject({ status: 'completed', output: 'the answer' })
    expect(speakers(events)).toEqual(['surfer'])
    expect(
      model.prompts.some((prompt) =>
        /next_speaker is "ghost", expected one of: coder, surfer/.test(textOf(prompt.at(-1))),
      ),
    ).toBe(true)

    const bad = leading('soon')
    const failed = await led(table(bad))
    expect(failed.outcome).toMatchObject({ status: 'failed', failure: { code: 'output.invalid' } })
    expect(bad.prompts).toHaveLength(5) // facts, plan, one look and two corrections
  })

  test('a model that fails ends the table as failed; a limit of the tree with what there is', async () => {
    expect((await led(table(scripted(fatal('down'))))).outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'model.bad-request' },
    })
    const root = roundtable({
      name: 'team',
      agents: [worker('coder')],
      speaker: ledger({ model: leading({}) }),
      limits: { turns: 5 },
    })
    expect((await led(root)).outcome).toMatchObject({ status: 'limited', limit: 'turns', partial: 'coder result' })
  })

  test('its answer has the promised form, and those who come after the table are shown it', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const model = scripted((request: ModelRequest) => {
      const question = textOf(request.messages.at(-1))
      if (/The request is satisfied/.test(question)) return 'forty-two'
      if (/required form/.test(question)) return '{"n":42}'
      return /survey|Answer with the plan/.test(question) ? 'x' : look({ done: true })
    })
    const reader = scripted('read')
    const team = roundtable({ name: 'team', agents: [worker('coder')], speaker: ledger({ model }), output })
    await led(sequential({ name: 'line', agents: [team, worker('reader', reader)] }))
    expect(withoutSystem(reader.prompts[0]).at(-1)).toEqual(user('For context: [team] said: {"n":42}.'))
  })

  test('a member that fails is told, and the ledger goes on from there', async () => {
    const model = leading({}, { next: 'surfer', say: 'You do it.' }, { done: true })
    const { outcome } = await led(table(model, {}, [worker('coder', scripted(fatal('down'))), worker('surfer')]))
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(model.prompts[3]).toContainEqual(user('[worker "coder" failed: its model could not answer]'))
  })
})
