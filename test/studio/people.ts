/** Who uses the studio in its tests: two who may do everything, and one who may only look. */
import type { Role } from '../../src/server/index.ts'

interface Person {
  readonly name: string
  readonly token: string
  readonly roles: readonly Role[]
}

export const people: readonly Person[] = [
  { name: 'ann', token: 'token-of-ann-for-tests-0123456789', roles: ['admin'] },
  { name: 'bob', token: 'token-of-bob-for-tests-0123456789', roles: ['admin'] },
  { name: 'vic', token: 'token-of-vic-for-tests-0123456789', roles: ['viewer'] },
]
