/** Addresses from outside: of files, private networks and metadata services, refused alike at all doors. */
import { area, holds, short } from '../attack.ts'
import type { Answer, World } from '../world.ts'

/** Addresses that nobody outside may make Reeve, a model's code or a provider read. */
const addresses: Readonly<Record<string, readonly string[]>> = {
  file: ['file:///etc/passwd', 'FILE:///etc/passwd', 'file://localhost/etc/passwd', 'file:/etc/passwd'],
  scheme: [
    'javascript:alert(1)',
    'ftp://example.com/x',
    'blob:https://example.com/1',
    'gopher://example.com/',
    'data:text/html,<script>',
    '//example.com/x',
    '/etc/passwd',
    '',
  ],
  http: ['http://example.com/x.png'],
  loopback: [
    'https://127.0.0.1/x',
    'https://localhost/x',
    'https://127.1/x',
    'https://2130706433/x',
    'https://0x7f000001/x',
    'https://[::1]/x',
    'https://0.0.0.0/x',
    'https://localhost./x',
    'https://foo.localhost/x',
  ],
  metadata: [
    'https://169.254.169.254/latest/meta-data',
    'http://169.254.169.254/latest',
    'https://metadata.google.internal/x',
    'https://[fd00:ec2::254]/x',
    'https://[::ffff:169.254.169.254]/x',
    'https://[::ffff:a9fe:a9fe]/x',
  ],
  private: [
    'https://10.0.0.1/x',
    'https://172.16.0.1/x',
    'https://192.168.1.1/x',
    'https://100.64.0.1/x',
    'https://[fc00::1]/x',
    'https://[fe80::1]/x',
    'https://[64:ff9b::a00:1]/x',
  ],
  credential: ['https://user:pass@example.com/x'],
}

/** How a file is sent over each protocol. */
const doors: Readonly<Record<string, (world: World, url: string) => Promise<Answer>>> = {
  openai: (world, url) =>
    world.say('openai', 'alice', 'echo', {
      more: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'look' },
              { type: 'image_url', image_url: { url } },
            ],
          },
        ],
      },
    }),
  responses: (world, url) =>
    world.say('responses', 'alice', 'echo', {
      more: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'look' },
              { type: 'input_image', image_url: url },
            ],
          },
        ],
      },
    }),
  chat: (world, url) =>
    world.say('chat', 'alice', 'echo', {
      more: {
        messages: [
          {
            id: 'm',
            role: 'user',
            parts: [
              { type: 'text', text: 'look' },
              { type: 'file', mediaType: 'image/png', url },
            ],
          },
        ],
      },
    }),
  'ag-ui': (world, url) =>
    world.say('ag-ui', 'alice', 'echo', {
      more: {
        messages: [
          {
            id: 'm',
            role: 'user',
            content: [
              { type: 'text', text: 'look' },
              { type: 'image', source: { type: 'url', value: url, mimeType: 'image/png' } },
            ],
          },
        ],
      },
    }),
  a2a: (world, url) =>
    world.say('a2a', 'alice', 'echo', { more: { parts: [{ text: 'look' }, { url, mediaType: 'image/png' }] } }),
}

/** Data that is no data. */
const badData: Readonly<Record<string, (world: World, data: string) => Promise<Answer>>> = {
  'ag-ui': (world, data) =>
    world.say('ag-ui', 'alice', 'echo', {
      more: {
        messages: [
          {
            id: 'm',
            role: 'user',
            content: [
              { type: 'text', text: 'look' },
              { type: 'image', source: { type: 'data', value: data, mimeType: 'image/png' } },
            ],
          },
        ],
      },
    }),
  a2a: (world, data) =>
    world.say('a2a', 'alice', 'echo', { more: { parts: [{ text: 'look' }, { raw: data, mediaType: 'image/png' }] } }),
}

export const files = area('Addresses and files from outside', [
  ...Object.entries(doors).flatMap(([door, send]) =>
    Object.entries(addresses).map(([kind, urls]) => ({
      id: `address-${door}-${kind}`,
      holds: `No model is shown an address of the kind "${kind}" that a caller sent (${door}).`,
      async run(world: World) {
        for (const url of urls) {
          world.shown.length = 0
          const answer = await send(world, url)
          holds(answer.status < 500, `${url}: ${answer.status}`)
          holds(
            !world.shown.some(({ messages }) => messages.includes('"file"')),
            `${url}: ${answer.status}, the model was shown it`,
          )
        }
      },
    })),
  ),
  ...Object.entries(doors).map(([door, send]) => ({
    id: `address-public-${door}`,
    holds: `A public https address is taken: what is tried above is no idle word (${door}).`,
    async run(world: World) {
      const answer = await send(world, 'https://example.com/x.png')
      holds(
        world.shown.some(({ messages }) => messages.includes('example.com')),
        `${answer.status} ${short(answer.text)}`,
      )
    },
  })),
  ...Object.entries(badData).map(([door, send]) => ({
    id: `data-${door}`,
    holds: `Data of a file that is no base64 is refused (${door}).`,
    async run(world: World) {
      for (const data of [
        'file:///etc/passwd',
        'not base64 !!',
        'https://169.254.169.254/x',
        '\u0000',
        '=',
        'AAA=AAA',
      ]) {
        world.shown.length = 0
        const answer = await send(world, data)
        holds(answer.status < 500, `${data}: ${answer.status}`)
        holds(
          !world.shown.some(({ messages }) => messages.includes('"file"')),
          `${short(data)}: the model was shown it`,
        )
      }
    },
  })),
  ...(['a2a', 'ag-ui'] as const).map((door) => ({
    id: `media-type-${door}`,
    holds: `A media type or file name with line breaks, quotes, folders or no end is refused or cut (${door}).`,
    async run(world: World) {
      for (const mediaType of ['image/png\r\nX-Evil: 1', 'text/html"><script>', 'a'.repeat(10_000), '', '../../etc']) {
        const url = 'https://example.com/x'
        const { status } = await {
          a2a: () =>
            world.say('a2a', 'alice', 'echo', {
              more: { parts: [{ text: 'look' }, { url, mediaType, filename: 'X-Evil\r\n../../etc/passwd' }] },
            }),
          'ag-ui': () =>
            world.say('ag-ui', 'alice', 'echo', {
              more: {
                messages: [
                  {
                    id: 'm',
                    role: 'user',
                    content: [
                      { type: 'text', text: 'look' },
                      { type: 'image', source: { type: 'url', value: url, mimeType: mediaType } },
                    ],
                  },
                ],
              },
            }),
        }[door]()
        holds(status < 500, `${short(mediaType)}: ${status}`)
        holds(
          !world.shown.some(({ messages }) => /X-Evil|<script>|aaaaaaaa|\.\.\/etc/.test(messages)),
          `the model was shown ${short(mediaType)}`,
        )
      }
    },
  })),
])
