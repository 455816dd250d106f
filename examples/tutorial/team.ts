import { setTimeout as pause } from 'node:timers/promises'
import { agent, supervisor, tool } from 'reeve'
import { z } from 'zod'

const lookUp = tool({
  name: 'look_up',
  description: 'Looks up a fact.',
  effect: 'read',
  execute: () => {
    console.log('looking it up')
    return 'Ravens remember faces.'
  },
})
const researcher = agent({
  name: 'researcher',
  description: 'Finds facts.',
  tools: [lookUp],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Ravens remember faces.' : { calls: [{ name: 'look_up', input: {} }] },
})

const writer = agent({
  name: 'writer',
  description: 'Writes mails.',
  model: async () => {
    console.log('writing')
    await pause(2_000)
    return 'Dear Ann, ravens remember faces.'
  },
})

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  sensitive: true, // asks a person first, however long that takes, and is never repeated by itself
  execute: ({ to, text }) => {
    console.log(`sent to ${to}: ${text}`)
    return 'sent'
  },
})
const postman = agent({
  name: 'postman',
  description: 'Sends mails.',
  tools: [sendMail],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'It is done.'
      : { calls: [{ name: 'send_mail', input: { to: 'ann', text: 'Dear Ann, ravens remember faces.' } }] },
})

/** Who is given work, in this order; a model would decide that. */
const plan = ['researcher', 'writer', 'postman']
export const office = supervisor({
  name: 'office',
  workers: [researcher, writer, postman],
  model: ({ messages }) => {
    const worker = plan[messages.filter(({ role }) => role === 'tool').length]
    return worker === undefined
      ? 'Ann has her mail.'
      : { calls: [{ name: 'delegate', input: { worker, instructions: 'Write Ann about ravens.' } }] }
  },
})
