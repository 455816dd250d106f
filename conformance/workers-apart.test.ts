/** The worker contract over agents in processes of their own: A2A and ACP, with the real packages. */
import { acp, acpIdempotent } from './workers/acp.ts'
import { a2a } from './workers/a2a.ts'
import { report } from './worker-report.ts'

report({ 'A2A agent': a2a, 'ACP agent': acp, 'ACP agent, idempotent': acpIdempotent })
