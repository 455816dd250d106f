/**
 * Names that have a word which `docs/reference/naming-conventions.md` forbids, and the reason why they keep it. The list
 * only shrinks by itself: an exception that is not needed fails.
 */
export interface Exception {
  readonly term: string
  /** Why the word is right there, or cannot change. */
  readonly reason: string
  readonly names?: readonly string[]
  /** A file or folder, for a word that is the subject of all that is in it. */
  readonly within?: string
}

export const exceptions: readonly Exception[] = [
  { term: 'wish', reason: 'a member of a recorded message', names: ['wish'] },
  { term: 'permit', reason: 'a member of a recorded edge', names: ['permit'] },
  { term: 'exception', reason: 'what a list of words leaves out; a public option', names: ['exceptions'] },
  { term: 'word', reason: 'a word of a text: characters between spaces', within: 'packages/core/src/imitation.ts' },
  { term: 'word', reason: 'a word of a shell', names: ['shellWord', 'shell-word'] },
  { term: 'word', reason: 'a character of a regular expression: `\\w`', names: ['isWord', 'words'] },
  {
    term: 'word',
    reason: 'words of a text that are looked for',
    within: 'packages/oversight/src/escalation/sensitive-words.ts',
  },
  { term: 'word', reason: 'words of texts that are compared', names: ['wordsInCommon', 'wordsIn', 'wordsOf'] },
]
