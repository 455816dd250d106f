/** Before every test of the suites on another engine: what cannot run there is skipped with its reason. */
import { beforeEach } from 'vitest'
import { engineUnderTest, type EngineName } from './engine-under-test.ts'
import { exceptions as onPostgres } from '../packages/postgres/test/suites.ts'
import { exceptions as onRestate } from '../packages/restate/test/suites.ts'
import { exceptionOf, type Exception } from './suites.ts'

const lists: Record<EngineName, readonly Exception[]> = {
  embedded: [],
  postgres: onPostgres,
  restate: onRestate,
}

beforeEach(({ task, skip }) => {
  const exception = exceptionOf(lists[engineUnderTest()], task.file.filepath, task.name)
  if (exception !== undefined) skip(exception.why)
})
