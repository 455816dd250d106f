import { defineTool } from 'eve/tools'
import { z } from 'zod'
import { refund } from '../../../../../refund.mjs'

export default defineTool({
  description: 'Pays the money of an order back.',
  inputSchema: z.object({ order: z.number(), dollars: z.number() }),
  approval: {
    request: () => (process.env['APPROVAL'] === 'yes' ? 'user-approval' : 'not-applicable'),
    response: () => ({ status: 'allowed' }), // the caller of this program is not logged in
  },
  execute: refund,
})
