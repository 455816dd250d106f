/**
 * The empty workflow of the Temporal bench: one activity, which does nothing. What a run on Temporal is measured
 * against.
 */
import { proxyActivities } from '@temporalio/workflow'

const { nothing } = proxyActivities<{ nothing(id: string): Promise<void> }>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '5 seconds',
})

export async function empty(id: string): Promise<void> {
  await nothing(id)
}
