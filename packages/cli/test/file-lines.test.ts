/** `reeve show` names the files that results of tools have shown, whatever their authors have called them. */
import { expect, test } from 'vitest'
import { fileLabel, type FilePart } from '@reeve/core'
import { agent, createRuntime, supervisor, tool, withFiles } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

const picture = (i: number, filename = `${i}.png`): FilePart => ({
  type: 'file',
  mediaType: 'image/png',
  filename,
  data: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, i]).toString('base64'),
})

async function shown(files: readonly FilePart[]): Promise<string> {
  const draw = tool({ name: 'draw', effect: 'read', execute: () => withFiles('drawn', files) })
  const painter = agent({
    name: 'painter',
    description: 'Paints.',
    tools: [draw],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'done' : { calls: [{ name: 'draw', input: {} }] },
  })
  const boss = supervisor({
    name: 'boss',
    workers: [painter],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { calls: [{ name: 'delegate', input: { worker: 'painter', instructions: 'Paint.' } }] },
  })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [boss] })
    await (await runtime.start(boss, 'Go.', { runId: 'run_1' })).outcome()
  }
  return (await reeve('show', 'run_1')).out
}

test('a line for each, with the tool and the agent', async () => {
  const [first, hostile] = [picture(1), picture(2, 'a\u202e\u001b[2J"]\nstatus: failed')]
  const out = await shown([first, hostile, first])
  expect(out).toContain(
    `\nfile of a result: draw (painter) ${fileLabel(first)}\nfile of a result: draw (painter) [file-`,
  )
  expect(out.match(/file of a result/g)).toHaveLength(2)
  expect(['\u202e', '\u001b', '\nstatus: failed'].filter((each) => out.includes(each))).toEqual([])
})

test('the last ten, and how many there are before them', async () => {
  const out = await shown(Array.from({ length: 12 }, (_, i) => picture(i)))
  expect(out).toContain(
    `… and 2 more files of results before these\nfile of a result: draw (painter) ${fileLabel(picture(2))}`,
  )
  expect(out.match(/file of a result:/g)).toHaveLength(10)
})

test('nothing where there are none', async () => {
  expect(await shown([])).not.toContain('file')
})
