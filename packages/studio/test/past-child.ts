/**
 * The days before the tests of the studio: runs in a store, by a process whose clock is late. Arguments: the file, how
 * many days, how many runs a day.
 */
import { createRuntime } from '@reeve/runtime'
import { pastAgents, pastInput } from './past-agents.ts'

const [file = '', days = '7', perDay = '12'] = process.argv.slice(2)
const [count, dayMs] = [Number(perDay), 86_400_000]
const clock = Date.now.bind(Date)
const users = ['mia@example.com', 'tom@example.com', 'noor@example.com']

for (let ago = Number(days); ago > 0; ago--) {
  Date.now = () => clock() - ago * dayMs
  await using runtime = await createRuntime({ store: file, agents: pastAgents(ago > Number(days) / 2 ? '2.0' : '2.1') })
  // more on some days than on others
  const today = Math.max(2, Math.round(count * (0.6 + 0.4 * Math.sin(ago))))
  const runs = await Promise.all(
    Array.from({ length: today }, (_, i) => {
      const name = i % 3 === 2 ? 'invoicer' : 'concierge'
      return runtime.start(name, pastInput(name, ago * count + i), {
        user: users[i % users.length]!,
        tenant: i % 4 === 3 ? 'acme' : 'north',
      })
    }),
  )
  for (const run of runs) await run.outcome()
}
