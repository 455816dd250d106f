/** What commands print on a terminal: lines that fit, broken between words; elsewhere one line stays one. */
import { expect, test } from 'vitest'
import { agent, createRuntime, interrupt, tool } from '@reeve/public'
import { columnsOfText } from '@reeve/core'
import { reeve, reeveOn, storeHere } from './at-store.ts'
import { fakeTerminal } from './fake-terminal.ts'

const reason = 'the price of 送金 has changed since it was approved by the people who approve such prices'
const pay = tool({ name: 'pay', execute: () => 'paid', approval: { reason } })
const payer = agent({
  name: 'payer',
  tools: [pay],
  model: () => ({ calls: [{ name: 'pay', input: { why: reason } }] }),
})
const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, reason) })

test('requests and questions: no word is broken, no line is too wide, a command stays on one line', async () => {
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [payer, asks] })
    await (await runtime.start(payer, 'Pay.', { runId: 'run_pay' })).until('waiting')
    await (await runtime.start(asks, 'Ask.', { runId: 'run_ask' })).until('waiting')
  }
  const columns = 50
  const words = new Set(reason.split(' '))
  for (const args of [['questions'], ['show', 'run_pay'], ['show', 'run_ask']]) {
    const { out } = await reeveOn(fakeTerminal({ isLive: true, columns }), ...args)
    const lines = out.split('\n')
    const isCommand = (line: string): boolean => line.startsWith('  reeve ')
    expect(lines.filter(isCommand)).not.toHaveLength(0)
    expect(lines.filter((line) => !isCommand(line) && columnsOfText(line) > columns)).toEqual([])
    const behind = lines.filter((line) => line.startsWith('    │ '))
    expect(behind).not.toHaveLength(0)
    const said = behind
      .flatMap((line) => line.slice(6).trim().split(' '))
      .map((word) => word.replaceAll(/^"|[",:]$/g, ''))
    expect(said.filter((word) => words.has(word)).length).toBeGreaterThan(8)
    expect(out.replaceAll(/\n {4}│ /g, '')).toContain(reason)
    expect((await reeve(...args)).out).toContain(reason)
  }
})
