import { agent, createRuntime, sequential, unwrap } from 'reeve'
import { z } from 'zod'

const Invoice = z.object({ customer: z.string(), eur: z.number() })
const Booking = z.object({ account: z.string(), cents: z.number() })

const extract = agent({
  name: 'extract',
  description: 'Reads an invoice.',
  input: z.object({ text: z.string() }),
  output: Invoice,
  model: () => JSON.stringify({ customer: 'Orbit', eur: 12.5 }),
})
const book = agent({
  name: 'book',
  description: 'Books an invoice.',
  input: Invoice,
  output: Booking,
  run: async (_ctx, { customer, eur }) => ({ account: `customer/${customer}`, cents: Math.round(eur * 100) }),
})
const invoices = sequential({ name: 'invoices', agents: [extract, book] })

await using runtime = await createRuntime({ agents: [invoices] })
const booking = unwrap(await runtime.run(invoices, { text: 'Orbit owes us EUR 12.50' }))
console.log(booking.account, booking.cents)
