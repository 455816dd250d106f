/** The sentences of the pages: short, with a subject and a verb; a page that was rewritten stays so. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allowed, findingsIn, findingsOf, pages, ratchet, sentencesOf } from '../../scripts/prose.ts'

const why = (text: string): readonly string[] => findingsIn(text).map((finding) => finding.why)

test.each(pages)('%s has no more faults than it may', (page) => {
  const found = findingsOf(page)
  const most = allowed()[page] ?? 0
  expect(found.length > most ? found : [], `at most ${most} of these; rewrite what you added`).toEqual([])
})

test('the ratchet has no page that is gone, and no number that is too high: npm run docs:prose', () => {
  expect(readFileSync(ratchet, 'utf8')).toBe(`${JSON.stringify(allowed(), null, 2)}\n`)
  const loose = Object.entries(allowed()).filter(
    ([page, most]) => !pages.includes(page) || findingsOf(page).length < most,
  )
  expect(loose).toEqual([])
})

test('pages that a script writes, decisions and specifications are not read', () => {
  expect(pages.length).toBeGreaterThan(60)
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/how-to/tools.md', 'templates/chat/README.md']))
  for (const page of ['docs/reference/events.md', 'docs/reference/coverage.md', 'docs/spec/team.md'])
    expect(pages).not.toContain(page)
})

test('a sentence begins and ends where a reader sees it, with its line', () => {
  const page = [
    '# A heading is none',
    '',
    'One `f(a. b)` [stands](x.md) here. The second',
    'goes on. `third` begins with code.',
    '',
    '```ts',
    'No sentence at all.',
    '```',
    '',
    '<!-- nor this one -->',
    '- `option`: what it does',
    '- [A link](x.md): and its remark',
    '',
    '| head | row |',
    '|---|---|',
    '| **a** | `b \\| c` and more |',
  ].join('\n')
  expect(sentencesOf(page)).toEqual([
    { line: 3, text: 'One Code stands here.', place: 'paragraph' },
    { line: 3, text: 'The second goes on.', place: 'paragraph' },
    { line: 4, text: 'Code begins with code.', place: 'paragraph' },
    { line: 11, text: 'what it does', place: 'item' },
    { line: 14, text: 'head', place: 'cell' },
    { line: 14, text: 'row', place: 'cell' },
    { line: 16, text: 'a', place: 'cell' },
    { line: 16, text: 'Code and more', place: 'cell' },
  ])
})

test.each([
  ['What is read is read.', 'what'],
  ['It gives the answer; what a middleware makes of it is given later.', 'what'],
  ['Of what it did last it is not known what will be there.', 'Of'],
  ['Who waits holds no place.', 'who'],
  ['Where all members wait, the task is refused.', 'Where'],
  ['Of those in a circle, it is the one that closed it.', 'Of'],
  ['Else the results stand one after the other.', 'Otherwise'],
  ['Counted is everything that all models were sent.', 'inverted'],
  ['Never for a sensitive tool or a high risk.', 'no verb'],
  ['Keeps the answer in a file.', 'no subject'],
  ['One that is not used is never made.', 'pronoun'],
  ['It begins anew after each reply.', 'again'],
  ['It reaches whoever asked.', 'role'],
  ['The run ends; the worker stops; the store closes.', 'semicolons'],
  [`${'The run waits for the worker and '.repeat(5)}ends.`, 'words'],
  [
    'A mismatch is refused: it does not run, it is not retried after that, the model is told about it, and the run goes on as before.',
    'clauses',
  ],
  [`| a | ${'word '.repeat(31)}|`, 'words'],
])('it finds what is wrong: %s', (text, part) => {
  expect(why(text)).toEqual([expect.stringContaining(part)])
})

test.each([
  'Set `oversight` on an agent, a flow or a team.',
  'Runs begin with the plan, and calls are counted.',
  'What is a run?',
  'The row says who asked, when, and what was decided.',
  'The first prints the run as a tree.',
  'If a channel fails, the failure is recorded, and the wait goes on.',
  '**Rate limits.** A provider that answers 429 slows all runs.',
  'Fault: the caller.',
  '- a phrase in a list',
  '| default | false; none |',
  'The plan takes a task, a role, a tool, a topic, an estimate, a risk and a budget.',
])('it leaves plain sentences alone: %s', (text) => {
  expect(why(text)).toEqual([])
})

test('one sentence in fifty may be a little longer', () => {
  const long = `${'The run waits for the worker and then '.repeat(4)}ends well.`
  const short = 'The run ends.'
  expect(why(`${long} ${short}`)).toEqual([expect.stringContaining('words')])
  expect(why(`${long} ${`${short} `.repeat(50)}`)).toEqual([])
})
