/** Before every test of the suites on Restate: what cannot run there is skipped with its reason. */
import { beforeEach } from 'vitest'
import { engineUnderTest } from '../engine-under-test.ts'
import { exceptionOf } from './suites.ts'

beforeEach(({ task, skip }) => {
  const exception = engineUnderTest() === 'embedded' ? undefined : exceptionOf(task.file.filepath, task.name)
  if (exception !== undefined) skip(exception.why)
})
