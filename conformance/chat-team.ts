/** A team that is reached through protocols in these tests: an office with a postman, an asker, and a slow author. */
import { agent, supervisor, tool, type Agent } from '@reeve/public'
import { z } from 'zod'

/** What the postman has sent. */
export interface Office {
  readonly agents: readonly Agent[]
  readonly sent: string[]
}

/** Shows a text word by word. */
async function spoken(
  text: string,
  emit: ((part: { readonly type: 'text.delta'; readonly id: string; readonly text: string }) => void) | undefined,
  pause: () => Promise<void>,
): Promise<string> {
  for (const word of text.split(/(?<= )/)) {
    emit?.({ type: 'text.delta', id: '0', text: word })
    await pause()
  }
  return text
}

/** `pause` is awaited after each word that the author says. */
export function office(pause: () => Promise<void> = () => Promise.resolve()): Office {
  const sent: string[] = []
  const sendMail = tool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string(), text: z.string() }),
    sensitive: true,
    execute: ({ to, text }) => {
      sent.push(`${to}: ${text}`)
      return { sent: true }
    },
  })
  const lookUp = tool({
    name: 'look_up',
    description: 'Finds an address.',
    input: z.object({ name: z.string() }),
    effect: 'read',
    execute: ({ name }) => `${name}@example.org`,
  })
  const postman = agent({
    name: 'postman',
    description: 'Sends mails.',
    tools: [sendMail],
    model: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return last.isError === true ? 'It was not sent.' : 'The mail is on its way.'
      return {
        text: 'I will write it.',
        calls: [{ name: 'send_mail', input: { to: 'ann@example.org', text: 'Hello' } }],
      }
    },
  })
  const boss = supervisor({
    name: 'office',
    workers: [postman],
    tools: [lookUp],
    model: ({ messages }) => {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const results = since.filter(({ role }) => role === 'tool')
      const users = messages.filter(({ role }) => role === 'user').length
      if (results.length === 0) return { text: 'Looking Ann up.', calls: [{ name: 'look_up', input: { name: 'ann' } }] }
      if (results.length === 1)
        return {
          text: 'Asking the postman.',
          calls: [{ name: 'delegate', input: { worker: 'postman', instructions: 'Greet Ann.' } }],
        }
      return `Done: message ${users}.`
    },
  })
  const asker = agent({
    name: 'asker',
    run: async (ctx) => {
      const city = await ctx.interrupt('Which city?')
      return `Off to ${String(city)}.`
    },
  })
  const author = agent({
    name: 'author',
    tools: [lookUp],
    model: async ({ messages, emit }) => {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const chapters = since.filter(({ role }) => role === 'tool').length
      const text = await spoken(`Chapter ${chapters}: it was a dark night in the north. `, emit as never, pause)
      return chapters === 3 ? text : { text, calls: [{ name: 'look_up', input: { name: `chapter${chapters}` } }] }
    },
  })
  const failing = agent({
    name: 'failing',
    run: () => {
      throw new Error('no paper left')
    },
  })
  return { agents: [boss, asker, author, failing], sent }
}

/** What the author says in one run. */
export const book = [0, 1, 2, 3].map((n) => `Chapter ${n}: it was a dark night in the north. `)
