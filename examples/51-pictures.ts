/** A picture in a message: every agent of a flow sees it. */
import assert from 'node:assert/strict'
import { agent, createRuntime, sequential, type Message } from 'reeve'

const seen: string[] = []
/** Notes the pictures that a model is shown. */
const look = (who: string, messages: readonly Message[]): void => {
  for (const { role, content } of messages)
    if (role === 'user' && typeof content !== 'string')
      for (const part of content) if (part.type === 'file') seen.push(`${who}: ${part.mediaType}`)
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const reader = agent({
  name: 'reader',
  model: ({ messages }) => {
    look('reader', messages)
    return 'The receipt says $40.'
  },
})
const clerk = agent({
  name: 'clerk',
  model: ({ messages }) => {
    look('clerk', messages)
    return 'It was $40, says your receipt.'
  },
})
const desk = sequential({ name: 'desk', agents: [reader, clerk] })

await using runtime = await createRuntime({ agents: [desk] })
// #region start
const receipt: Message = {
  role: 'user',
  content: [
    { type: 'text', text: 'My receipt:' },
    { type: 'file', mediaType: 'image/png', filename: 'receipt.png', data: png }, // base64; or `url: 'https://…'`
  ],
}
const outcome = await runtime.run(desk, 'How much was it?', { messages: [receipt] })
// #endregion
console.log(outcome.status === 'completed' ? outcome.output : outcome, seen)
assert.deepEqual(seen, ['reader: image/png', 'clerk: image/png'])
