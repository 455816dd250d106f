/**
 * What the model of all programs says. With the tool `look_up` it is a worker: it looks something up, and then answers.
 * Else it is the leader: it delegates ten times, one after the other, to one worker after the other by whatever tool the
 * framework offers for that, and then answers. It decides by what is in the request alone.
 */
import type { Answer, Asked, Offered } from '../killed/model.ts'
import { textOf, workers } from './texts.ts'

export const delegations = 10

const resultsIn = ({ messages }: Asked): number => messages.filter(({ role }) => role === 'tool').length

export function answerOf(asked: Asked): Answer {
  const offered = (asked.tools ?? []).map((tool) => tool.function)
  const results = resultsIn(asked)
  if (offered.some(({ name }) => name === 'look_up'))
    return results > 0
      ? { text: textOf('The piece', 300) }
      : { call: { name: 'look_up', input: { what: 'the next thing' } } }
  if (results >= delegations) return { text: textOf('The answer', 300) }
  const brief = textOf(`Piece ${results + 1}`, 120)
  const { name } = workers[results % workers.length]!
  if (offered.some((tool) => tool.name === 'delegate'))
    return { call: { name: 'delegate', input: { worker: name, instructions: brief } } }
  const tool = offered.find((each) => each.name.includes(name))
  if (tool === undefined) throw new Error(`no tool for ${name} among ${offered.map((each) => each.name).join(', ')}`)
  return { call: { name: tool.name, input: Object.fromEntries(textsOf(tool).map((text) => [text, brief])) } }
}

/** The texts that a call must have. */
function textsOf({ parameters }: Offered): readonly string[] {
  const { properties = {}, required = [] } = parameters ?? {}
  return required.filter((name) => properties[name]?.type === 'string')
}
