/** Files of the conversation of an agent of another framework: each is sent or named, and never left out in silence. */
import { tmpdir } from 'node:os'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { agent, createRuntime, withFiles, type Agent } from '@reeve/public'
import { fileLabel, type FilePart } from '@reeve/core'
import { sequential } from '@reeve/flow'
import { tool } from '@reeve/agent'
import { a2aAgent } from '../../protocols/src/a2a/worker.ts'
import { acpAgent } from '../src/acp/index.ts'
import { externalAgent, withSentFiles } from '../src/external-agent/index.ts'

const png: FilePart = { type: 'file', mediaType: 'image/png', filename: 'a.png', data: 'iVBORw0KGgo=' }
const csv: FilePart = { type: 'file', mediaType: 'text/csv', data: 'YSxi' }
const video: FilePart = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' }
const link: FilePart = { type: 'file', mediaType: 'image/*', filename: 'b', url: 'https://example.org/b?key=1' }
const files = [png, csv, video, link]
const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Mine:' }, ...files] }]

async function answerOf(worker: Agent): Promise<unknown> {
  await using runtime = await createRuntime({ agents: [worker], onWarning: () => {} })
  const outcome = await runtime.run(worker.name, 'Look.', { messages })
  return outcome.status === 'completed' ? outcome.output : outcome
}

describe('an agent that is given text', () => {
  const told = (prompt?: () => string) =>
    externalAgent(
      { name: 'text', ...(prompt && { prompt }) },
      {
        effect: 'idempotent',
        begin: (given) => Promise.resolve({ status: 'done', output: given }),
        proceed: () => Promise.reject(new Error('nothing was asked')),
      },
    )
  const lines = files.map((file) => fileLabel(file, 'not sent: this agent is given text only')).join('\n')

  test('reads a line for each', async () => {
    expect(await answerOf(told())).toBe(`Look.\n${lines}`)
  })
  test('also under a prompt of its own', async () => {
    expect(await answerOf(told(() => 'Mine.'))).toBe(`Mine.\n${lines}`)
  })
  test('also of those of a result of another member', async () => {
    const draw = tool({ name: 'draw', effect: 'read', execute: () => withFiles('drawn', [png]) })
    const model = ({ messages: said }: { readonly messages: readonly { readonly role: string }[] }) =>
      said.some(({ role }) => role === 'tool') ? 'ok' : { calls: [{ name: 'draw', input: {} }] }
    const flow = sequential({ name: 'flow', agents: [agent({ name: 'a', tools: [draw], model }), told()] })
    await using runtime = await createRuntime({ agents: [flow], onWarning: () => {} })
    const outcome = await runtime.run(flow, 'go')
    expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining(fileLabel(png).slice(0, -1)) })
  })
  test('those beyond the bounds are named', () => {
    const many = Array.from({ length: 101 }, (_, i): FilePart => ({ ...png, data: `iVBORw0KGgo${i}` }))
    const { text, sent } = withSentFiles('x', many, () => true)
    expect(sent).toHaveLength(100)
    expect(text.split('\n').at(-1)).toBe(fileLabel(many[100]!, 'not sent: they are too many'))
    const large = 'A'.repeat(20 * 1024 * 1024)
    expect(withSentFiles('x', [{ ...png, data: large }, { ...csv, data: large }, csv], () => true).sent).toHaveLength(2)
  })
})

describe('A2A', () => {
  async function sent(card?: () => Promise<object>) {
    const requests: { message: { parts: { content: { $case: string; value: unknown }; mediaType: string }[] } }[] = []
    const client = {
      sendMessage: (request: never) => (
        requests.push(request),
        Promise.resolve({ parts: [{ content: { $case: 'text', value: 'ok' } }] })
      ),
      getTask: () => Promise.resolve({}),
      cancelTask: () => Promise.resolve({}),
      async *resubscribeTask() {},
      ...(card && { getAgentCard: card }),
    }
    expect(await answerOf(a2aAgent({ name: 'remote', client }))).toBe('ok')
    expect(requests).toHaveLength(1)
    const [text, ...more] = requests[0]!.message.parts
    return { text: text?.content.value as string, more }
  }
  const unlisted = (file: FilePart) =>
    fileLabel(file, 'not sent: the remote agent does not say that it takes this type')

  test('sends what the card lists, and names the rest', async () => {
    const modes = ['text/plain', 'Image/*', 'text/csv; charset=utf-8', 7]
    const { text, more } = await sent(() => Promise.resolve({ defaultInputModes: modes }))
    expect(text).toBe(['Look.', fileLabel(png), fileLabel(csv), unlisted(video), fileLabel(link)].join('\n'))
    expect(more).toEqual([
      {
        content: { $case: 'raw', value: Buffer.from(png.data, 'base64') },
        metadata: undefined,
        filename: 'a.png',
        mediaType: 'image/png',
      },
      {
        content: { $case: 'raw', value: Buffer.from('a,b') },
        metadata: undefined,
        filename: '',
        mediaType: 'text/csv',
      },
      {
        content: { $case: 'url', value: 'https://example.org/b?key=1' },
        metadata: undefined,
        filename: 'b',
        mediaType: 'image/*',
      },
    ])
  })
  test.each<[what: string, card: (() => Promise<object>) | undefined]>([
    ['without a card', undefined],
    ['a card that cannot be read', () => Promise.reject(new Error('away'))],
    ['a card with nonsense', () => Promise.resolve({ defaultInputModes: 'image/png' })],
  ])('%s: all are named', async (_, card) => {
    const { text, more } = await sent(card)
    expect(text).toBe(['Look.', ...files.map(unlisted)].join('\n'))
    expect(more).toEqual([])
  })
})

describe('ACP', () => {
  const child = fileURLToPath(new URL('./acp-child.ts', import.meta.url))
  const blocks = async (capabilities: object) =>
    JSON.parse(
      (await answerOf(
        acpAgent({
          name: 'coder',
          command: process.execPath,
          args: ['--no-warnings', child, 'blocks', JSON.stringify(capabilities)],
          cwd: realpathSync(tmpdir()),
        }),
      )) as string,
    ) as object[]
  const untaken = (file: FilePart) => fileLabel(file, 'not sent: the coding agent does not take this type')
  const linked = { type: 'resource_link', uri: 'https://example.org/b?key=1', name: 'b' }

  test('sends what the agent says it takes', async () => {
    const [text, ...more] = await blocks({ image: true, embeddedContext: true })
    expect(text).toEqual({
      type: 'text',
      text: ['Look.', fileLabel(png), fileLabel(csv), untaken(video), fileLabel(link)].join('\n'),
    })
    expect(more).toEqual([
      { type: 'image', mimeType: 'image/png', data: png.data },
      {
        type: 'resource',
        resource: { uri: expect.stringMatching(/^reeve:file-/) as string, mimeType: 'text/csv', text: 'a,b' },
      },
      linked,
    ])
  })
  test('names the rest; a link is taken by every agent', async () => {
    expect(await blocks({ image: 'yes' })).toEqual([
      { type: 'text', text: ['Look.', untaken(png), untaken(csv), untaken(video), fileLabel(link)].join('\n') },
      linked,
    ])
  })
})
