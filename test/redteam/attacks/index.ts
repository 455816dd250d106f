/** All attacks. Owns: which lists there are. */
import type { Attack } from '../attack.ts'
import { authors } from './authors.ts'
import { approvals } from './approvals.ts'
import { bounds } from './bounds.ts'
import { cookies } from './cookies.ts'
import { ownership } from './ownership.ts'

export const attacks: readonly Attack[] = [...authors, ...ownership, ...approvals, ...cookies, ...bounds]
