/** The team that each program builds: the same texts for all, and the same tool. */

/** A text of so many characters, about something. */
export const textOf = (about: string, length: number): string =>
  `${about}: ${'words that matter '.repeat(length / 18)}`.slice(0, length)

export const task = textOf('The task', 200)
export const leader = { name: 'leader', instructions: textOf('How to lead the team', 200) }
export const workers = ['history', 'market'].map((name) => ({
  name,
  description: textOf(`Does the work of ${name}`, 60),
  instructions: textOf(`How to do the work of ${name}`, 200),
}))
export const lookUp = {
  name: 'look_up',
  description: 'Looks something up.',
  find: (): string => textOf('Found', 400),
}
