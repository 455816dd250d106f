/** Who uses the studio in its tests. */
import type { Role } from '../../src/server/index.ts'

interface Person {
  readonly name: string
  readonly token: string
  readonly roles: readonly Role[]
}

export const ann: Person = { name: 'ann', token: 'token-of-ann-for-tests-0123456789', roles: ['admin'] }
export const bob: Person = { name: 'bob', token: 'token-of-bob-for-tests-0123456789', roles: ['admin'] }
export const vic: Person = { name: 'vic', token: 'token-of-vic-for-tests-0123456789', roles: ['viewer'] }

export const people: readonly Person[] = [ann, bob, vic]
