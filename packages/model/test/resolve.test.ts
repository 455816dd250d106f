/**
 * References: ids, keys, addresses, functions, prices, what is not installed.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failure, FailureError, ReeveError } from '@reeve/core'
import { providerNames, resolveModel, type Model, type ModelRef } from '../src/index.ts'
import { startFakeLlm, type FakeLlm } from './fake-llm.ts'
import { asking, failureOf, sink } from './requests.ts'

let llm: FakeLlm
beforeAll(async () => {
  llm = await startFakeLlm()
  llm.on({ userMessage: 'hello' }, 'hi')
})
afterAll(() => llm.close())

function thrown(ref: unknown, options = {}): ReeveError {
  try {
    resolveModel(ref as ModelRef, options)
  } catch (error) {
    if (ReeveError.is(error)) return error
  }
  throw new Error('nothing was thrown')
}

describe('ids', () => {
  test.each(['gpt-5', '', '/', 'openai/', '/gpt-5', 'openai/gpt 5', 'OpenAI/gpt-5'])(
    '"%s" is refused at once, with the list of providers',
    (id) => {
      const error = thrown(id, { env: {} })
      expect(error.code).toBe('model.invalid-id')
      for (const name of providerNames) expect(error.hint).toContain(name)
    },
  )

  test('an unknown provider is refused at once, unless there is a base URL for it', async () => {
    expect(thrown('acme/m', { env: {} }).hint).toContain('ACME_BASE_URL')
    for (const options of [{ env: { ACME_BASE_URL: llm.url } }, { env: {}, baseURLs: { acme: `${llm.url}/v1` } }]) {
      expect(await resolveModel('acme/m:8b/x', options).call(asking('hello'))).toMatchObject({
        text: 'hi',
        model: 'acme/m:8b/x',
        response: { model: 'm:8b/x' },
      })
    }
  })

  test.each([
    [42],
    [null],
    [{}],
    [{ specificationVersion: 'v1', provider: 'p', modelId: 'm', doGenerate: 1, doStream: 1 }],
  ])('%o is no reference', (ref) => {
    expect(thrown(ref ?? {}).code).toBe('model.invalid-id')
  })

  test('a provider in the place of a model is recognised', () => {
    expect(thrown(Object.assign(() => undefined, { languageModel: () => undefined })).hint).toContain("openai('gpt-5')")
  })

  test('a Model is itself', () => {
    const model: Model = { id: 'own/m', call: () => Promise.reject(new Error('unused')) }
    expect(resolveModel(model)).toBe(model)
  })
})

describe('keys and addresses', () => {
  test.each([
    ['openai/gpt-5', 'OPENAI_API_KEY'],
    ['openai-chat/gpt-5', 'OPENAI_API_KEY'],
    ['anthropic/claude-sonnet-5', 'ANTHROPIC_API_KEY'],
    ['google/gemini-3.5-flash', 'GOOGLE_API_KEY'],
    ['openrouter/a/b', 'OPENROUTER_API_KEY'],
    ['groq/x', 'GROQ_API_KEY'],
  ])('%s without a key names %s, before anything is sent', async (id, variable) => {
    const provider = id.slice(0, id.indexOf('/'))
    const before = llm.requests().length
    const failed = await failureOf(
      resolveModel(id, { env: { [variable]: ' ' }, baseURLs: { [provider]: llm.url } }),
      asking('hello'),
    )
    expect(failed).toMatchObject({ code: 'model.not-authorized', class: 'policy', retryable: false })
    expect(failed.message).toContain(variable)
    expect(failed.hint).toContain(variable)
    expect(llm.requests().length).toBe(before)
  })

  test.each(['ollama', 'lmstudio', 'vllm', 'llamacpp', 'openai-compatible'])('%s needs no key', async (provider) => {
    expect(
      await resolveModel(`${provider}/m`, { env: {}, baseURLs: { [provider]: llm.url } }).call(asking('hello')),
    ).toMatchObject({
      text: 'hi',
    })
  })

  test('keys and addresses come from the environment, under every known name', async () => {
    const witness = await llm.proxy()
    for (const name of ['GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY']) {
      await resolveModel('google/gemini-3.5-flash', {
        env: { [name]: `secret of ${name}`, GOOGLE_BASE_URL: `${witness.url}/v1beta/` },
      }).call(asking('hello'))
      expect(witness.requests().at(-1)?.headers['x-goog-api-key']).toBe(`secret of ${name}`)
    }
    await resolveModel('anthropic/claude-sonnet-5', {
      env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: witness.url },
    }).call(asking('hello'))
    expect(witness.requests().at(-1)).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': 'k' } })
  })

  test('a key that is set after the first call is found by the next', async () => {
    const env: Record<string, string> = { OPENAI_BASE_URL: llm.url }
    const model = resolveModel('openai/gpt-5', { env })
    expect((await failureOf(model, asking('hello'))).code).toBe('model.not-authorized')
    env.OPENAI_API_KEY = 'k'
    expect(await model.call(asking('hello'))).toMatchObject({ text: 'hi' })
  })

  test.each([undefined, 'nonsense', 'ftp://x'])('a base URL of %s is a failure that says what to set', async (url) => {
    const failed = await failureOf(
      resolveModel('openai-compatible/m', { env: url === undefined ? {} : { OPENAI_COMPATIBLE_BASE_URL: url } }),
      asking('hello'),
    )
    expect(failed).toMatchObject({ code: 'config.invalid', retryable: false })
    expect(failed.hint).toContain('OPENAI_COMPATIBLE_BASE_URL')
  })

  test('a key never appears in a failure, even if the server sends it back', async () => {
    llm.on(
      { userMessage: 'echo' },
      {
        failure: 'unauthorized',
        message: 'the keys my-very-own-key and sk-proj-abcdefghijklmnop and Bearer opaquetoken are wrong',
      },
    )
    const model = resolveModel('openai/gpt-5', {
      env: {},
      apiKeys: { openai: 'my-very-own-key' },
      baseURLs: { openai: llm.url },
    })
    const error = await model.call(asking('echo')).catch((why: unknown) => why)
    expect(error).toBeInstanceOf(FailureError)
    for (const shown of [JSON.stringify((error as FailureError).failure), String((error as FailureError).stack)]) {
      expect(shown).not.toContain('my-very-own-key')
      expect(shown).not.toContain('abcdefghijklmnop')
      expect(shown).not.toContain('opaquetoken')
      expect(shown).toContain('are wrong')
    }
    expect((error as FailureError).cause).toBeUndefined()
  })
})

describe('prices', () => {
  test('a known model has one, a local server costs nothing, all else is unknown', () => {
    const env = { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:4000' }
    expect(resolveModel('openai/gpt-5-mini', { env }).price).toMatchObject({ usdPerMillionTokens: { input: 0.25 } })
    expect(resolveModel('ollama/qwen3', { env }).price).toMatchObject({ usdPerMillionTokens: { input: 0, output: 0 } })
    expect(
      resolveModel('ollama/qwen3', { env: { OLLAMA_BASE_URL: 'https://models.example.test' } }).price,
    ).toBeUndefined()
    expect(resolveModel('openai-compatible/m', { env }).price).toBeUndefined() // a proxy may stand there
    expect(resolveModel('openrouter/openai/gpt-5-mini', { env }).price).toBeUndefined()
  })

  test('an answer carries its cost', async () => {
    llm.on({ userMessage: 'cost' }, { text: 'x', usage: { input: 1_000_000, output: 100_000 } })
    const answer = await resolveModel('openai-chat/gpt-5-mini', llm.options).call(asking('cost'))
    expect(answer.usage?.usd).toBeCloseTo(0.25 + 0.2, 9)
    const price = { usdPerMillionTokens: { input: 9, output: 0 } }
    const dearer = await resolveModel('openai-chat/gpt-5-mini', llm.options).call({ ...asking('cost'), price })
    expect(dearer.usage?.usd).toBeCloseTo(9, 9)
  })
})

describe('functions', () => {
  test('a text, or calls, sync or async, is an answer that costs nothing', async () => {
    const rule = () => 'done'
    expect(await resolveModel(rule).call(asking('x'))).toEqual({
      text: 'done',
      calls: [],
      finish: 'stop',
      usage: { input: 0, output: 0, usd: 0 },
      model: 'rule/rule',
    })
    const calls = resolveModel(
      () =>
        Promise.resolve({
          calls: [
            { name: 'delegate', input: { worker: 'w' } },
            { name: 'delegate', input: {}, id: 'mine' },
          ],
        }),
      { id: 'rules/boss' },
    )
    const answer = await calls.call(asking('x'))
    expect(answer).toMatchObject({
      text: '',
      finish: 'tool-calls',
      model: 'rules/boss',
      calls: [{ name: 'delegate', input: { worker: 'w' } }, { id: 'mine' }],
    })
    expect(await calls.call(asking('x'))).toEqual(answer) // the same key, the same ids
    expect((await calls.call(asking('x', { key: 'step-2' }))).calls[0]?.id).not.toBe(answer.calls[0]?.id)
  })

  test('it sees the request; usage is what it says, or unknown', async () => {
    const model = resolveModel(({ messages, tools }) => ({
      text: `${messages.length} ${tools[0]?.name ?? ''}`,
      usage: { input: 3, output: 4 },
    }))
    expect(await model.call(asking('x'))).toMatchObject({ text: '1 delegate', usage: { input: 3, output: 4 } })
    expect('usage' in (await resolveModel(() => ({ usage: 'unknown' })).call(asking('x')))).toBe(false)
  })

  test('its text is streamed once, by it or for it', async () => {
    const quiet = sink()
    await resolveModel(() => 'done').call(asking('x', { emit: quiet.emit }))
    expect(quiet.parts).toEqual([
      { type: 'text.start', id: '0' },
      { type: 'text.delta', id: '0', text: 'done' },
      { type: 'text.end', id: '0' },
    ])
    const loud = sink()
    await resolveModel(({ emit }) => {
      emit?.({ type: 'text.delta', id: 'own', text: 'done' })
      return 'done'
    }).call(asking('x', { emit: loud.emit }))
    expect(loud.parts).toEqual([{ type: 'text.delta', id: 'own', text: 'done' }])
  })

  test('what it throws is a failure: its own, or one of class unknown', async () => {
    const own = failure('budget.exceeded', 'enough', 'budget')
    expect(
      await failureOf(
        resolveModel(() => Promise.reject(new FailureError(own))),
        asking('x'),
      ),
    ).toEqual(own)
    const bug = await failureOf(
      resolveModel(() => {
        throw new TypeError('undefined is not a brain')
      }),
      asking('x'),
    )
    expect(bug).toMatchObject({ code: 'model.failed', class: 'unknown', retryable: true })
    expect(bug.message).toContain('undefined is not a brain')
  })

  test.each([
    [undefined],
    [7],
    [{ text: Number.NaN }],
    [{ calls: 3 }],
    [{ calls: [{ name: 'x', input: new Date(0) }] }],
  ])('%o is not an answer', async (value) => {
    expect(await failureOf(resolveModel((() => value) as never), asking('x'))).toMatchObject({
      code: 'model.answer-invalid',
      class: 'validation',
      retryable: false,
    })
  })

  test('one that never ends is left when the signal is aborted', async () => {
    const reason = new Error('enough')
    const control = new AbortController()
    const asked = resolveModel(() => new Promise<string>(() => undefined)).call(asking('x', { signal: control.signal }))
    control.abort(reason)
    await expect(asked).rejects.toBe(reason)
  })
})

describe('packages', () => {
  test('nothing is imported before the first call; a missing package is one line to install', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reeve-model-'))
    const root = new URL('../../..', import.meta.url).pathname
    await cp(join(root, 'packages/core'), join(folder, 'packages/core'), { recursive: true })
    await cp(join(root, 'packages/model'), join(folder, 'packages/model'), { recursive: true })
    await mkdir(join(folder, 'node_modules/@reeve'), { recursive: true })
    await symlink(join(folder, 'packages/core'), join(folder, 'node_modules/@reeve/core'))
    await symlink(join(root, 'node_modules/@noble'), join(folder, 'node_modules/@noble'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const script = `
      import { resolveModel } from './packages/model/src/index.ts'
      const ask = { messages: [], tools: [], signal: new AbortController().signal, key: 'k' }
      for (const id of ['openai/a', 'anthropic/a', 'google/a', 'ollama/a']) {
        const model = resolveModel(id, { env: { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GOOGLE_API_KEY: 'k' } })
        await model.call(ask).catch(({ failure }) => console.log(failure.code, failure.retryable, failure.hint))
      }`
    await writeFile(join(folder, 'ask.ts'), script)
    const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/node'), ['ask.ts'], {
      cwd: folder,
    })
    await rm(folder, { recursive: true })
    const line = (name: string): string => `model.not-installed false Install it: npm install @ai-sdk/${name}`
    expect(stdout.trim().split('\n')).toEqual(['openai', 'anthropic', 'google', 'openai-compatible'].map(line))
  })
})
