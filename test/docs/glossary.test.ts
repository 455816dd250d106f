/** The glossary: each page that teaches links the words of the house to it, and none of its words is explained twice. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../scripts/house.ts'
import { pages, sentencesOf } from '../../scripts/prose.ts'

const read = (page: string): string => readFileSync(join(root, page), 'utf8')
/** The words of the first column. */
const words = [...read('docs/reference/glossary.md').matchAll(/^\| (\*\*.+?) \| /gm)].flatMap(([, cell]) =>
  [...cell!.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word]) => word!),
)
/** Words that a reader cannot guess, in their forms; and the pages that explain one at length. */
const strange: readonly (readonly [word: string, forms: RegExp, explained: readonly string[]])[] = [
  ['activation', /\bactivations?\b/, []],
  ['in doubt', /\bin doubt\b/, ['docs/how-to/after-a-crash.md']],
  ['epoch', /\bepochs?\b/, []],
  ['mover', /\bmovers?\b/, ['docs/how-to/engines.md']],
  ['park', /\bpark(?:s|ed|ing)?\b/, []],
  ['content key', /\bcontent keys?\b/, ['docs/how-to/fork-and-retry.md']],
  ['capability', /\bcapabilit(?:y|ies)\b/, ['docs/how-to/install.md']],
  ['diverged', /\bdiverge[ds]?\b/, []],
  ['set aside', /\bset aside\b/, ['docs/how-to/operations.md']],
  ['bail', /\bbail(?:s|ed)?\b/, []],
  ['edge', /\bedge\b/, []],
]

test('a how-to or a tutorial links each word that a reader cannot guess, once at least', () => {
  const teaching = pages.filter((page) => /^docs\/(?:how-to|tutorial)\//.test(page))
  expect(teaching.length).toBeGreaterThan(40)
  const lost = teaching.flatMap((page) => {
    const text = sentencesOf(read(page))
      .map((sentence) => sentence.text)
      .join('\n')
    const linked = [...read(page).matchAll(/\[([^\]]+)\]\([^)]*glossary\.md\)/g)].map(([, label]) => label!)
    return strange.flatMap(([word, forms, explained]) =>
      forms.test(text) && !explained.includes(page) && !linked.some((label) => forms.test(label))
        ? [`${page}: link "${word}" to ../reference/glossary.md`]
        : [],
    )
  })
  expect(lost).toEqual([])
})

test('the glossary has each of these words, and each word once', () => {
  expect(words.length).toBeGreaterThan(30)
  expect(strange.map(([word]) => word).filter((word) => !words.includes(word))).toEqual([])
  expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([])
})
