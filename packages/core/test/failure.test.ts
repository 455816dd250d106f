/** What a thrown value stands for, whoever made it. */
import { expect, test } from 'vitest'
import { failure, failureFrom, FailureError, type Failure } from '../src/index.ts'

test('a FailureError is taken as it is; what it lacks is that of an unknown error', () => {
  const sound = failure('tool.failed', 'busy', 'transport', { retryAfterMs: 5 })
  expect(failureFrom(new FailureError(sound), 'agent.failed')).toBe(sound)
  for (const odd of [{}, { message: 7 }, { code: 'tool.failed' }])
    expect(failureFrom(new FailureError(odd as unknown as Failure), 'agent.failed')).toEqual(
      failure('agent.failed', 'a FailureError without a failure', 'unknown'),
    )
  expect(failureFrom(new FailureError({ message: 'no card' } as unknown as Failure), 'agent.failed')).toEqual(
    failure('agent.failed', 'no card', 'unknown'),
  )
})
