/** An agent whose journal grows for a while: thirty steps, each with a live part. */
import { delay } from '../../src/core/clock.ts'
import { completed } from '../../src/core/index.ts'
import { effect, hand } from '../runtime/hand.ts'

export const stepper = hand('stepper', async (ctx) => {
  for (let i = 0; i < 30; i++)
    await effect(ctx, `step${i}`, async (io) => {
      io.emit({ type: 'text.delta', text: `part ${i} ` })
      await delay(20)
      return i
    })
  return completed('done')
})

/** Lets in as an admin at a server in a process of its own. */
export const childToken = 'the-token-of-the-processes-of-a-test'
