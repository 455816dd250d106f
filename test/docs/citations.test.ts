/** Citations: every law, rule, case, section and decision that is cited stands in the house, and every law is held. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  anchorsIn,
  citing,
  citingTexts,
  dangling,
  house,
  lawsIn,
  root,
  specNames,
  specText,
} from '../../scripts/house.ts'

const texts = [...citingTexts()]
const there = house()
const laws = lawsIn(readFileSync(join(root, 'LAWS.md'), 'utf8'))
/** A citation that is written in two pieces is none of this file's own. */
const cite = (...pieces: readonly string[]): string => pieces.join('')

test('every citation leads to a law, a rule, a case, a section or a decision', () => {
  const lost = texts.flatMap(([file, text]) => dangling(text, there).map((cited) => `${file}: ${cited}`))
  expect(lost).toEqual([])
})

test('every folder that is searched is there, and laws and cases are cited from it', () => {
  expect(citing.filter((path) => !existsSync(join(root, path)))).toEqual([])
  const all = texts.filter(([file]) => !file.startsWith('docs/spec/') && file !== 'LAWS.md')
  for (const { id } of laws)
    expect
      .soft(
        all.some(([, text]) => new RegExp(`\\b${id}\\b`).test(text)),
        id,
      )
      .toBe(true)
})

test('the laws are numbered without a gap; each names modules and tests that are there', () => {
  expect(laws.map(({ id }) => id)).toEqual(laws.map((_, i) => `K${i + 1}`))
  expect(laws.length).toBeGreaterThan(0)
  for (const { id, modules, tests } of laws) {
    expect.soft(modules.length, id).toBeGreaterThan(0)
    expect.soft(tests.length, id).toBeGreaterThan(0)
    expect.soft([...modules, ...tests].filter((path) => !existsSync(join(root, path)))).toEqual([])
  }
})

test.each(specNames)('no number of %s is given twice', (spec) => {
  const ids = anchorsIn(specText(spec)).map(({ id }) => id)
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
})

test.each([
  cite('holds K', '99'),
  cite('(spec team R-', '99)'),
  cite('team R-14, C', '199: too much'),
  cite('delegation 15 to ', '199'),
  cite('spec team 1.7, collaboration ', '9.9.'),
  cite('what C', '999 says'),
  cite("test('X", "99: open')"),
  cite('see decision ', '0999'),
  cite('as DESI', 'GN §', '3.1 says'),
  cite('DESI', 'GN 3.3'),
  cite('the law, §', '3'),
  cite('spec delegation part', 's 3 and 4'),
  cite('over\n * two lines: team R-14,\n * R-', '98'),
])('a citation that leads nowhere is found: %j', (text) => {
  expect(dangling(text, there)).toHaveLength(1)
})

test('what is there, and what is no citation, is left alone', () => {
  const fine = [
    'K1 and K12',
    'RFC 9110 §10.2.3',
    'team R-14, C76 to C78',
    'delegation 15 to 18, M20',
    'a team of 2.5 people',
  ]
  expect(fine.flatMap((text) => dangling(text, there))).toEqual([])
})
