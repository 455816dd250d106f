/** Control that only goes round (spec collaboration 29). */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { router } from '@reeve/flow'
import { xfer } from './control.ts'
import { runtimeOf } from './team.ts'

test('collaboration 29: handing to a silent worker again and again is a round, even if control returns by rule', async () => {
  const silent = agent({ name: 'silent', description: 'Says nothing.', model: () => '' })
  const desk = router({ name: 'desk', model: () => xfer('silent'), workers: [silent] })
  const runtime = await runtimeOf([desk])
  const outcome = await runtime.run(desk, 'go')
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: {
      code: 'transfer.loop',
      message: expect.stringMatching(/(desk > silent > desk|silent > desk > silent)/) as string,
    },
  })
})

test('collaboration 29: asking again a worker that failed is no round', async () => {
  let tries = 0
  const shaky = agent({
    name: 'shaky',
    description: 'Fails three times.',
    run: () => {
      if (++tries < 4) throw new Error('not yet')
      return 'done'
    },
  })
  const desk = router({
    name: 'desk',
    model: ({ messages }) => (JSON.stringify(messages.at(-1)).includes('done') ? 'fine' : xfer('shaky')),
    workers: [shaky],
  })
  const runtime = await runtimeOf([desk])
  expect(await runtime.run(desk, 'go')).toMatchObject({ status: 'completed', output: 'fine' })
})
