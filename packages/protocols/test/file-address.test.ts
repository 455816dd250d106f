/** Addresses of files: one rule, at every door where a caller or a model names one. */
import { describe, expect, test } from 'vitest'
import { a2a } from '../src/a2a/index.ts'
import { agUi } from '../src/ag-ui/index.ts'
import { uiMessages } from '../src/ai-sdk/index.ts'
import { openai } from '../src/openai/index.ts'
import { fileSource, fileInput } from '@reeve/core'
import { echo } from '../../runtime/test/hand.ts'
import { servingProtocols, type Ask } from './protocol-serving.ts'

const refused = [
  'file:///etc/passwd',
  'http://example.com/a.png',
  'ftp://example.com/a.png',
  'gs://bucket/a.png',
  'javascript:alert(1)',
  'https://localhost/a',
  'https://LOCALHOST./a',
  'https://api.localhost/a',
  'https://printer.local/a',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://metadata/a',
  'https://user:secret@example.com/a',
  'https://user@example.com/a',
  'https://127.0.0.1/a',
  'https://127.1/a',
  'https://2130706433/a',
  'https://0x7f.0.0.1/a',
  'https://0177.0.0.1/a',
  'https://1２7.0.0.1/a',
  'https://127.0.0.1./a',
  'https://0.0.0.0/a',
  'https://10.1.2.3/a',
  'https://100.64.0.1/a',
  'https://100.100.100.200/latest/meta-data',
  'https://169.254.169.254/latest/meta-data',
  'https://0xa9fea9fe/latest',
  'https://172.16.0.1/a',
  'https://172.31.255.255/a',
  'https://192.168.1.1/a',
  'https://224.0.0.1/a',
  'https://255.255.255.255/a',
  'https://[::1]/a',
  'https://[::]/a',
  'https://[::ffff:127.0.0.1]/a',
  'https://[::ffff:a9fe:a9fe]/a',
  'https://[64:ff9b::7f00:1]/a',
  'https://[fd00:ec2::254]/a',
  'https://[fe80::1]/a',
  'https://[2002:7f00:1::]/a',
  'https://[2001:db8::1]/a',
  'data:text/html,<script>',
  'data:image/png;base64,<>',
  'nowhere',
  '',
]
const taken = [
  'https://example.com/a.png',
  'https://files.example/a.png?b=c',
  'https://172.32.0.1/a',
  'https://8.8.8.8/a',
  'https://[2606:4700::1111]/a',
  'https://bücher.example/a',
  'https://example.com:8443/a',
  'https://internal.example.com/a',
]

describe('an address of a file', () => {
  test.each(refused)('%j is refused', (address) => {
    expect(fileSource(address)).toEqual({ problem: expect.any(String) as string })
  })

  test.each(taken)('%j is taken', (address) => {
    expect(fileSource(address)).toEqual({ url: new URL(address).href })
  })

  test('data in base64 is taken with its type', () => {
    expect(fileSource('data:image/png;base64,AAAA')).toEqual({ data: 'AAAA', mediaType: 'image/png' })
    expect(fileSource('data:;base64,AAAA')).toEqual({ data: 'AAAA', mediaType: 'application/octet-stream' })
  })
})

describe('a file from outside', () => {
  test.each([
    '',
    '=',
    'A',
    'AAA=AAA',
    'AA=',
    'AAAA=',
    'A===',
    'not base64 !!',
    'https://example.com/a',
    'AAAA\n',
    '\0',
  ])('the data %j is refused', (data) => {
    expect(fileInput({ data }, 'image/png')).toEqual({ problem: 'the data of a file is not data in base64' })
    expect(fileSource(`data:image/png;base64,${data}`)).toEqual({ problem: 'is not data in base64' })
  })

  test.each([
    'image',
    'image/',
    '/png',
    'image/png\r\nX-Evil: 1',
    'text/html"><script>',
    '../../etc',
    `a/${'b'.repeat(200)}`,
  ])('the media type %j is refused', (mediaType) => {
    const problem = 'the media type of a file is not one, such as "image/png"'
    expect(fileInput({ data: 'AAAA', mediaType }, 'image/png')).toEqual({ problem })
  })

  test('is taken in one form: without parameters of its type, folders and control characters of its name', () => {
    const file = { data: 'AAA=', mediaType: 'Text/PLAIN; charset=utf-8', filename: 'X\r\n../..\\etc/p\u202eass\0wd' }
    const taken = { type: 'file', data: 'AAA=', mediaType: 'text/plain' }
    expect(fileInput(file, 'image/png')).toEqual({ ...taken, filename: 'passwd' })
    for (const filename of ['..', 'a/', '', '\n']) expect(fileInput({ ...file, filename }, 'image/png')).toEqual(taken)
    expect(fileInput({ data: 'AA', mediaType: '', filename: 'a'.repeat(9_999) }, 'image/*')).toEqual({
      type: 'file',
      data: 'AA',
      mediaType: 'image/*',
      filename: 'a'.repeat(255),
    })
    expect(fileInput({ url: 'data:image/png;base64,AAAA' }, 'image/*')).toEqual({
      type: 'file',
      data: 'AAAA',
      mediaType: 'image/png',
    })
  })
})

const doors: readonly (readonly [door: string, send: (ask: Ask, address: string, key: string) => Promise<Response>])[] =
  [
    [
      'useChat',
      (ask, url, id) =>
        ask('/chat', {
          id: `chat-${id}`,
          messages: [
            {
              id,
              role: 'user',
              parts: [
                { type: 'text', text: 'look' },
                { type: 'file', mediaType: 'image/png', url },
              ],
            },
          ],
        }),
    ],
    [
      'OpenAI, chat',
      (ask, url) => {
        const content = [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url } },
        ]
        return ask('/v1/chat/completions', { model: 'echo', messages: [{ role: 'user', content }] })
      },
    ],
    [
      'OpenAI, responses',
      (ask, url) => {
        const content = [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: url },
        ]
        return ask('/v1/responses', { model: 'echo', input: [{ role: 'user', content }] })
      },
    ],
    [
      'AG-UI',
      (ask, value, id) => {
        const content = [
          { type: 'text', text: 'look' },
          { type: 'image', source: { type: 'url', value } },
        ]
        const messages = [{ id, role: 'user', content }]
        return ask('/ag-ui', { threadId: `thread-${id}`, runId: id, messages, tools: [], context: [], state: {} })
      },
    ],
    [
      'A2A',
      (ask, url, messageId) => {
        const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'look' }, { url, mediaType: 'image/png' }] }
        const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
        return ask('/a2a/echo', body, 'ann', { 'A2A-Version': '1.0' })
      },
    ],
  ]

describe.each(doors)('%s', (_door, send) => {
  test('takes a public address of a file, and starts nothing with another', async () => {
    const { ask, runtime } = await servingProtocols(
      [echo],
      [uiMessages({ agent: 'echo' }), openai(), agUi({ agent: 'echo' }), a2a({ agents: ['echo'] })],
    )
    for (const [i, address] of ['file:///etc/passwd', 'https://169.254.169.254/a', 'https://[::1]/a'].entries()) {
      const said = await (await send(ask, address, `bad-${i}`)).text()
      expect(said).toMatch(/"error"|RUN_ERROR/)
      expect(said).toMatch(/expected \\"https:\\"|not public/)
    }
    expect(await runtime.runs()).toEqual([])
    await (await send(ask, 'https://example.com/a.png', 'good')).text()
    expect(await runtime.runs()).toHaveLength(1)
  })
})
