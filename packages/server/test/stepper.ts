/** Agents whose journals grow for a while: thirty steps, each with a live part. */
import { delay } from '@reeve/core/clock'
import { completed } from '@reeve/core'
import { effect, hand } from '../../runtime/test/hand.ts'

/** `heldAt`: a step that does not end in this process. The next process repeats it, and goes on. */
export const stepperHeldAt = (heldAt: number): ReturnType<typeof hand> =>
  hand('stepper', async (ctx) => {
    for (let i = 0; i < 30; i++)
      await effect(ctx, `step${i}`, async (io) => {
        io.emit({ type: 'text.delta', text: `part ${i} ` })
        await (i === heldAt ? new Promise<never>(() => {}) : delay(20))
        return i
      })
    return completed('done')
  })

export const stepper = stepperHeldAt(Infinity)

/** Lets in as an admin at a server in a process of its own. */
export const childToken = 'the-token-of-the-processes-of-a-test'
