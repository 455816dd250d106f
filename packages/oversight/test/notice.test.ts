/** Channels: what is refused before anybody waits, and what telling does not count as. */
import { afterEach, describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import type { ReeveError } from '@reeve/core'
import { approve, channelsCheck, type Channel } from '../src/index.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '@reeve/runtime'

const desk: Channel = { name: 'desk', notify: () => {} }
const naming = (name: string, ...notify: string[]) =>
  agent({ name, description: 'Works.', oversight: { approval: { notify } }, run: () => Promise.resolve('done') })

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})
async function runtimeOf(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ strict: true, ...options })
  open.push(runtime)
  return runtime
}
const refusal = (work: Promise<unknown>): Promise<ReeveError> =>
  work.then(
    () => Promise.reject(new Error('it was not refused')),
    (thrown: unknown) => thrown as ReeveError,
  )

describe('what is refused', () => {
  test('invalid channels, bad names and duplicates', () => {
    expect(channelsCheck('slack', 'x: channels')).toEqual([
      'x: channels is the text "slack", expected a list of channels',
    ])
    expect(channelsCheck([desk], 'x: channels')).toEqual([])
    const odd = [desk, null, { ...desk, name: 'a b' }, { ...desk, timeoutMs: 0, attempts: 1.5 }]
    expect(channelsCheck(odd, 'x: channels')).toEqual([
      'x: channels[1] is null, expected a channel: { name, notify }',
      'x: channels[2].name is the text "a b", expected a letter or "_", then up to 63 letters, digits, "_" or "-"',
      'x: channels[3].timeoutMs is 0, expected milliseconds above 0',
      'x: channels[3].attempts is 1.5, expected a whole number of at least 1',
      'x: channels: two channels are called "desk"',
    ])
  })
  test('all unregistered channels of an agent are named in one error', async () => {
    const agents = [naming('one', 'desk', 'slakc'), naming('two', 'pager', 'pager')]
    const error = await refusal(createRuntime({ agents, channels: [desk, { ...desk, name: 'slack' }] }))
    expect([error.code, error.message.split('\n')]).toEqual([
      'config.invalid',
      [
        'createRuntime: the agent "one": oversight.approval.notify names the channel "slakc", which is not registered: did you mean "slack"?',
        'createRuntime: the agent "two": oversight.approval.notify names the channel "pager", which is not registered',
      ],
    ])
  })
  test('a start may name channels; a process that only starts runs needs none', async () => {
    const root = naming('one')
    const runtime = await runtimeOf({ agents: [root], channels: [desk] })
    const error = await refusal(runtime.start(root, 'go', { oversight: { approval: { notify: ['desk', 'pager'] } } }))
    expect([error.code, error.message]).toEqual([
      'input.invalid',
      'start: oversight.approval.notify names the channel "pager", which is not registered',
    ])
    expect(await runtime.runs()).toEqual([])
    const starter = await runtimeOf({ agents: [naming('two', 'pager')], drive: false })
    expect((await starter.start('two', 'go', { oversight: { approval: { notify: ['pager'] } } })).id).toMatch(/^run_/)
  })
  test('an agent called "notice" and its tools are no channels', async () => {
    const root = naming('notice')
    const runtime = await runtimeOf({ agents: [root] })
    const run = await runtime.start(root, 'go')
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect((await run.view()).activations.map((each) => each.agent)).toEqual(['notice'])
  })
})

describe('what telling does not count as', () => {
  const asker = agent({
    name: 'asker',
    description: 'Asks.',
    run: async (ctx) => {
      const verdict = await approve(ctx, {
        tool: 'pay',
        toolVersion: '1',
        input: 1,
        reason: 'money',
        rules: { notify: ['slow'] },
      })
      return verdict.approved
    },
  })
  test('working time: a slow channel uses up no minutes', async () => {
    let told = false
    const slow: Channel = {
      name: 'slow',
      notify: async () => {
        await new Promise((resolve) => setTimeout(resolve, 400))
        told = true
      },
    }
    const runtime = await runtimeOf({ agents: [asker], channels: [slow] })
    const run = await runtime.start(asker, 'go', { limits: { minutes: 0.2 / 60 } })
    await expect.poll(() => told).toBe(true)
    const [approval] = await runtime.approvals()
    await run.decide({ approvalId: approval!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: true })
  })
  test('K8: a pause holds telling back like every effect, and it is told after it', async () => {
    let tries = 0
    const slow: Channel = {
      name: 'slow',
      notify: (_notice, { signal }) =>
        ++tries > 1
          ? undefined
          : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    }
    const runtime = await runtimeOf({ agents: [asker], channels: [slow] })
    const run = await runtime.start(asker, 'go')
    await expect.poll(() => tries).toBe(1)
    await run.control.pause({ at: 'now' })
    await expect.poll(async () => (await run.view()).status).toBe('paused')
    expect(tries).toBe(1)
    await run.control.resume()
    await expect.poll(() => tries).toBe(2)
    const [approval] = await runtime.approvals()
    await run.decide({ approvalId: approval!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: true })
  })
  test('a cancel calls it off', async () => {
    let why: unknown
    const slow: Channel = {
      name: 'slow',
      notify: (_notice, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            why = signal.reason
            reject(signal.reason as Error)
          }),
        ),
    }
    const runtime = await runtimeOf({ agents: [asker], channels: [slow] })
    const run = await runtime.start(asker, 'go')
    await run.until('waiting')
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(String(why)).toMatch(/enough|leader/)
  })
})
