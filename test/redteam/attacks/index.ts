/** All attacks. Owns: which lists there are. */
import type { Attack } from '../attack.ts'
import { authors } from './authors.ts'
import { approvals } from './approvals.ts'
import { bounds } from './bounds.ts'
import { browsers } from './browser.ts'
import { clientToolAttacks } from './client-tools.ts'
import { cookies } from './cookies.ts'
import { display } from './display.ts'
import { files } from './files.ts'
import { identity } from './identity.ts'
import { machine } from './machine.ts'
import { outbound } from './outbound.ts'
import { ownership } from './ownership.ts'
import { protocols } from './protocols.ts'
import { remotes } from './remote.ts'
import { stores } from './store.ts'
import { transport } from './transport.ts'

export const attacks: readonly Attack[] = [
  ...authors,
  ...ownership,
  ...approvals,
  ...clientToolAttacks,
  ...cookies,
  ...bounds,
  ...files,
  ...protocols,
  ...transport,
  ...identity,
  ...remotes,
  ...display,
  ...outbound,
  ...browsers,
  ...stores,
  ...machine,
]
