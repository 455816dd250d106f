/** `reeve content`: a large result of a run, whole. */
import { expect, test } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { fakeTerminal } from './fake-terminal.ts'
import { reeve, reeveOn, storeHere } from './at-store.ts'

const text = `${'a line\n'.repeat(80_000)}\u001b[2J the end`
const keeper = agent({
  name: 'keeper',
  run: (ctx) => ctx.step('keep', async ({ contents }) => (await contents.keep(text, 'text')).$content),
})

test('prints all of it as it is; an unknown name is an error', async () => {
  const { output } = await (async () => {
    await using runtime = await createRuntime({ store: storeHere(), agents: [keeper] })
    return (await runtime.run(keeper, 'go', { runId: 'one' })) as { output: string }
  })()
  expect(await reeve('content', 'one', output)).toMatchObject({ code: 0, out: text })
  // a prompt begins on a line of its own
  expect(await reeveOn(fakeTerminal({ isLive: true }), 'content', 'one', output)).toMatchObject({ out: `${text}\n` })
  const unknown = await reeve('content', 'one', 'result-0')
  expect(unknown).toMatchObject({ code: 1, out: '' })
  expect(unknown.err).toContain('the run one has no content')
  expect((await reeve('content', 'none', output)).err).toContain('none')
})
