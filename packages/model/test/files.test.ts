/**
 * What a model makes besides text: how it gets into an answer, and how it is shown to a model again.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answerMessage,
  estimateTokens,
  MessagesContent,
  resolveModel,
  type AssistantMessage,
  type FilePart,
  type LanguageModelLike,
  type Message,
  type ModelAnswer,
  type ModelAnswerInput,
} from '../src/index.ts'
import { digest } from '@reeve/core'
import { startFakeLlm, wires, type FakeLlm } from './fake-llm.ts'
import { asking, failureOf, saying, sink } from './requests.ts'

type Version = LanguageModelLike['specificationVersion']
type Part = { readonly type: string; readonly [member: string]: unknown }

const versions: readonly Version[] = ['v2', 'v3', 'v4']
const metadata = { fake: { signature: 'S' } }
const png: FilePart = { type: 'file', mediaType: 'image/png', data: 'iVBORw0K' }
const signed: FilePart = { type: 'file', mediaType: 'audio/wav', data: 'UklGRg==', metadata }

interface Fake {
  readonly model: LanguageModelLike
  /** The prompts it was asked with. */
  readonly prompts: unknown[]
}

/** A model object that answers with this content, streamed or whole. */
function fake(version: Version, content: readonly Part[] = [], modelId = 'm1'): Fake {
  const prompts: unknown[] = []
  const asked = (options: { readonly prompt: unknown }): void => void prompts.push(options.prompt)
  const finishReason = version === 'v2' ? 'stop' : { unified: 'stop', raw: 'stop' }
  const model: LanguageModelLike = {
    specificationVersion: version,
    provider: 'fake.chat',
    modelId,
    doGenerate: (options) => {
      asked(options)
      return Promise.resolve({ content, finishReason, usage: {}, warnings: [] })
    },
    doStream: (options) => {
      asked(options)
      return Promise.resolve({
        stream: ReadableStream.from([...content.flatMap(streamed), { type: 'finish', finishReason, usage: {} }]),
      })
    },
  }
  return { model, prompts }
}

function streamed(part: Part, index: number): Part[] {
  if (part.type !== 'text') return [part]
  const id = String(index)
  return [
    { type: 'text-start', id, providerMetadata: part.providerMetadata },
    { type: 'text-delta', id, delta: part.text },
    { type: 'text-end', id },
  ]
}

/** A file as a provider of that version gives it. */
const given = (version: Version, data: unknown, more: object = {}): Part => ({
  type: 'file',
  mediaType: 'image/png',
  data: version === 'v4' ? { type: 'data', data } : data,
  ...more,
})
/** Data as a provider of that version is given it. */
const taken = (version: Version, data: string): unknown => (version === 'v4' ? { type: 'data', data } : data)

const journaled = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

async function contentOf(to: Fake, message: Message): Promise<unknown> {
  const before: Message[] = message.role === 'user' ? [] : [{ role: 'user', content: 'go' }]
  await resolveModel(to.model).call(saying([...before, message]))
  return (to.prompts.at(-1) as readonly { readonly content: unknown }[]).at(-1)?.content
}

describe.each(versions.flatMap((version) => [true, false].map((streaming) => ({ version, streaming }))))(
  '$version, streaming $streaming: an answer',
  ({ version, streaming }) => {
    const answerOf = (...content: Part[]): Promise<ModelAnswer> =>
      resolveModel(fake(version, content).model).call(asking('x', streaming ? { emit: sink().emit } : {}))

    test('has the files the model made, as base64, with what the provider says of them', async () => {
      const answer = await answerOf(
        { type: 'text', text: 'Here.' },
        given(version, 'iVBORw0K'),
        given(version, new Uint8Array([82, 73, 70, 70]), { mediaType: 'audio/wav', providerMetadata: metadata }),
      )
      expect(answer).toMatchObject({ text: 'Here.', calls: [], finish: 'stop' })
      expect(answer.files).toEqual([png, signed])
      expect(journaled(answer)).toEqual(answer)
      expect(answerMessage(answer)).toMatchObject({ role: 'assistant', content: 'Here.', files: [png, signed] })
    })

    test('has bytes of any number, whole', async () => {
      for (const length of [1, 2, 3, 24_575, 24_576, 24_577, 100_000]) {
        const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) % 256)
        const answer = await answerOf(given(version, bytes))
        expect(answer.files).toEqual([
          { type: 'file', mediaType: 'image/png', data: Buffer.from(bytes).toString('base64') },
        ])
      }
    })

    test('has no file without a payload, and none of a thought', async () => {
      const answer = await answerOf(
        ...[undefined, null, '', new Uint8Array(0), 7].map((data) => given(version, data)),
        { type: 'file', mediaType: 'image/png' },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'nowhere' } },
        { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { fake: 'f1' } } },
        { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0K' } },
        given(version, 'iVBORw0K', { providerMetadata: { google: { thought: true } } }),
        { type: 'text', text: 'Nothing.' },
      )
      expect(answer.text).toBe('Nothing.')
      expect('files' in answer).toBe(false)
      expect('reasoning' in answer).toBe(false)
      expect('files' in answerMessage(answer)).toBe(false)
    })

    test('may be a file alone, of a type that was not told', async () => {
      const answer = await answerOf(given(version, 'AAAA', { mediaType: undefined }))
      expect(answer).toMatchObject({
        text: '',
        files: [{ type: 'file', mediaType: 'application/octet-stream', data: 'AAAA' }],
      })
    })

    test('may have a file that is somewhere else', async () => {
      const url = 'https://example.test/a.png'
      for (const each of [url, new URL(url)]) {
        const { files } = await answerOf({ type: 'file', mediaType: 'image/png', data: { type: 'url', url: each } })
        expect(files).toEqual([{ type: 'file', mediaType: 'image/png', url }])
      }
    })

    const text: Part = { type: 'text', text: 'Here.' }
    const picture = given(version, 'iVBORw0K')
    const sound = given(version, 'UklGRg==', { mediaType: 'audio/wav', providerMetadata: metadata })
    const call: Part = { type: 'tool-call', toolCallId: 'a', toolName: 'delegate', input: '{}' }
    const again = new Map<Part, unknown>([
      [text, text],
      [picture, { type: 'file', mediaType: 'image/png', data: taken(version, 'iVBORw0K') }],
      [sound, { type: 'file', mediaType: 'audio/wav', data: taken(version, 'UklGRg=='), providerOptions: metadata }],
      [call, { ...call, input: {} }],
    ])

    test.each([
      [true, [text, picture, text, sound, call]],
      [true, [picture, text]],
      [true, [call, picture]],
      [true, [text, sound, call]],
      [false, [text, picture, call]],
      [false, [picture, picture]],
    ])('is shown to its model again as it was; an order is recorded: %s', async (recorded, content) => {
      const answer = await answerOf(...content)
      expect('reasoning' in answer).toBe(recorded)
      expect(await contentOf(fake(version), journaled(answerMessage(answer)))).toEqual(
        content.map((part) => again.get(part)),
      )
    })

    test.each([[[sound, text]], [[text, sound]]])(
      'is shown to another model without what the first one signed',
      async (content) => {
        const message = journaled(answerMessage(await answerOf(...content)))
        expect(await contentOf(fake(version, [], 'm2'), message)).toEqual([
          text,
          { type: 'file', mediaType: 'audio/wav', data: taken(version, 'UklGRg==') },
        ])
      },
    )
  },
)

describe.each(versions)('%s: a prompt', (version) => {
  const own: AssistantMessage = {
    role: 'assistant',
    content: 'Here.',
    files: [png, signed],
    calls: [{ id: 'a', name: 'delegate', input: {} }],
  }
  const plainContent = [
    { type: 'text', text: 'Here.' },
    { type: 'file', mediaType: 'image/png', data: taken(version, 'iVBORw0K') },
    { type: 'file', mediaType: 'audio/wav', data: taken(version, 'UklGRg=='), providerOptions: metadata },
    { type: 'tool-call', toolCallId: 'a', toolName: 'delegate', input: {} },
  ]

  test('has the files of an own message between its text and its calls', async () => {
    expect(await contentOf(fake(version), own)).toEqual(plainContent)
  })

  test('has them so, too, where the recorded order does not fit them any more', async () => {
    const text = { type: 'text', length: 5 } as const
    const call = { type: 'call', callId: 'a' } as const
    for (const files of [[], [{ type: 'file' }], [{ type: 'file' }, { type: 'file' }, { type: 'file' }]] as const) {
      const reasoning = { model: 'fake.chat:m1', parts: [...files, text, call] }
      expect(await contentOf(fake(version), { ...own, reasoning })).toEqual(plainContent)
    }
  })

  test("has what a provider said of a file also where the file is a user's, and a file by its URL", async () => {
    const url = new URL('https://example.test/a.png')
    const linked: FilePart = { type: 'file', mediaType: 'image/png', url: url.href, filename: 'a.png', metadata }
    const content = [
      { type: 'file', mediaType: 'audio/wav', data: taken(version, 'UklGRg=='), providerOptions: metadata },
      {
        type: 'file',
        mediaType: 'image/png',
        filename: 'a.png',
        data: version === 'v4' ? { type: 'url', url } : url,
        providerOptions: metadata,
      },
    ]
    expect(await contentOf(fake(version), { role: 'user', content: [signed, linked] })).toEqual(content)
    expect(await contentOf(fake(version), { role: 'assistant', content: '', files: [signed, linked] })).toEqual(content)
  })
})

describe('a function', () => {
  const answerOf = (answer: ModelAnswerInput): Promise<ModelAnswer> =>
    resolveModel(() => answer, { id: 'rule/painter' }).call(asking('x'))

  test('may return files', async () => {
    const linked: FilePart = {
      type: 'file',
      mediaType: 'video/mp4',
      url: 'https://example.test/a.mp4',
      filename: 'a.mp4',
    }
    expect(await answerOf({ text: 'Here.', files: [png, signed, linked] })).toEqual({
      text: 'Here.',
      calls: [],
      files: [png, signed, linked],
      finish: 'stop',
      usage: { input: 0, output: 0, usd: 0 },
      model: 'rule/painter',
    })
  })

  test('of which those without a payload are left out', async () => {
    expect((await answerOf({ files: [{ ...png, data: '' }, png] })).files).toEqual([png])
    for (const files of [[], [{ ...png, data: '' }]]) expect('files' in (await answerOf({ files }))).toBe(false)
  })

  test.each([
    [png, 'answer.files is not a list'],
    [[png, 'a.png'], 'answer.files[1] is not an object of type "file"'],
    [[{ ...png, type: 'image' }], 'answer.files[0] is not an object of type "file"'],
    [[{ ...png, mediaType: '' }], 'answer.files[0] has no mediaType'],
    [[{ ...png, filename: 1 }], 'answer.files[0] has a filename that is not a text'],
    [[{ ...png, metadata: [] }], 'answer.files[0] has metadata that is not an object'],
    [[{ type: 'file', mediaType: 'image/png' }], 'answer.files[0] has neither data nor a url'],
    [[{ ...png, data: 'https://example.com/a' }], 'answer.files[0] has data that is not data in base64'],
    [[{ type: 'file', mediaType: 'image/png', url: 'nowhere' }], 'answer.files[0] has a url that is not an address'],
    [[{ ...png, data: new Uint8Array(3) }], 'answer.files[0].data is an instance of Uint8Array, not plain JSON'],
  ])('may not return %j', async (files, problem) => {
    const failure = await failureOf(resolveModel((() => ({ files })) as never), asking('x'))
    expect(failure).toMatchObject({ code: 'model.answer-invalid', class: 'validation', retryable: false })
    expect(failure.message).toContain(problem)
  })
})

describe('hash and estimate', () => {
  const said: AssistantMessage = { role: 'assistant', content: 'Here.' }

  test('a file costs the same from any sender', () => {
    const own = estimateTokens([{ ...said, files: [png, signed] }]) - estimateTokens([said])
    const users =
      estimateTokens([{ role: 'user', content: [png, signed] }]) - estimateTokens([{ role: 'user', content: '' }])
    expect([own, users]).toEqual([3_000, 3_000])
  })

  test('files are part of the digest; a message without any is what it always was', () => {
    const answer: ModelAnswer = { text: 'Here.', calls: [], finish: 'stop', model: 'fake/m1' }
    const digestOf = (message: Message): string => new MessagesContent().of([message], digest)
    expect(digestOf(answerMessage(answer))).toBe(digestOf(said))
    expect(digestOf(answerMessage({ ...answer, files: [] }))).toBe(digestOf(said))
    expect(digestOf(answerMessage({ ...answer, files: [png] }))).not.toBe(digestOf(said))
  })
})

describe('over the wire', () => {
  let llm: FakeLlm
  beforeAll(async () => {
    llm = await startFakeLlm()
  })
  beforeEach(() => llm.reset())
  afterAll(() => llm.close())

  test.each([true, false])(
    'a picture of Gemini comes with its signature and goes back with it, streaming %s',
    async (streaming) => {
      llm.on({ userMessage: 'paint' }, { parts: [...pictures, { type: 'text', text: 'Here.' }] })
      const asked = resolveModel('google/gemini-3.5-flash', llm.options)
      const answer = await asked.call(asking('paint', streaming ? { emit: sink().emit } : {}))
      expect(answer.text).toBe('Here.')
      expect(answer.files).toEqual([{ ...png, metadata: { google: { thoughtSignature: 'c2ln' } } }])
      await asked.call(
        saying([
          { role: 'user', content: 'paint' },
          journaled(answerMessage(answer)),
          { role: 'user', content: 'paint again' },
        ]),
      )
      const { contents } = JSON.parse(llm.requests()[1]?.body ?? '') as { readonly contents: readonly unknown[] }
      const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' }, thoughtSignature: 'c2ln' }
      expect(contents[1]).toMatchObject({ role: 'model', parts: [picture, { text: 'Here.' }] })
    },
  )

  test.each(wires)('own pictures and those of others are taken: $name', async (wire) => {
    llm.on({ userMessage: 'and now' }, 'Seen.')
    const witness = await llm.proxy()
    const foreign: FilePart = { ...png, data: 'Rk9SRUlHTg==', metadata: { google: { thoughtSignature: 'c2ln' } } }
    const history: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'For context: [painter] made this.' }, foreign] },
      { role: 'assistant', content: 'Mine.', files: [png] },
      { role: 'user', content: 'and now' },
    ]
    expect(await resolveModel(wire.model, witness.options).call(saying(history))).toMatchObject({ text: 'Seen.' })
    const body = witness.requests()[0]?.body
    expect(body).toContain(foreign.data)
    expect(body?.includes(png.data)).toBe(wire.name === 'google') // the other packages leave out what an assistant made
  })
})

/** What Gemini paints before its text: a picture of its thoughts, and the one that counts. */
const pictures = [{ thought: true }, { thoughtSignature: 'c2ln' }].map((more) => ({
  type: 'raw' as const,
  value: { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' }, ...more },
}))
