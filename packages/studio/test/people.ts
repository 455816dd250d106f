/** Who uses the studio in its tests: two who may do everything, one who may only look, and one of a tenant. */
import type { Role } from '@reeve/server'

interface Person {
  readonly name: string
  readonly token: string
  readonly roles: readonly Role[]
  readonly tenant?: string
}

export const people: readonly Person[] = [
  { name: 'ann', token: 'token-of-ann-for-tests-0123456789', roles: ['admin'] },
  { name: 'bob', token: 'token-of-bob-for-tests-0123456789', roles: ['admin'] },
  { name: 'vic', token: 'token-of-vic-for-tests-0123456789', roles: ['viewer'] },
  { name: 'tess', token: 'token-of-tess-for-tests-0123456789', roles: ['admin'], tenant: 'acme' },
]
