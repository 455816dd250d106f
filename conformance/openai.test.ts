/** The official client of OpenAI talks to `openai()`: chat completions and responses, streaming and not. */
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { openai } from '../packages/protocols/src/openai/index.ts'
import { closeAll, servedApart, serving, storeFile, tokenOf } from './chat-serving.ts'
import { book, office } from './chat-team.ts'

afterEach(closeAll)

const clientFor = (url: string, user = 'ann', options: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: tokenOf(user), maxRetries: 0, ...options })

const user = (content: string) => [{ role: 'user' as const, content }]
const thrown = (promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
  promise.then(
    () => Promise.reject(new Error('nothing was thrown')),
    (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
  )

describe('models', () => {
  test('agents are models', async () => {
    const { url } = await serving(office().agents, [openai({ models: ['office', 'author'] })])
    const client = clientFor(url)
    const names: string[] = []
    for await (const { id } of client.models.list()) names.push(id)
    expect(names).toEqual(['author', 'office'])
    expect(await client.models.retrieve('author')).toMatchObject({ id: 'author', object: 'model', owned_by: 'reeve' })
    expect(await thrown(client.models.retrieve('asker'))).toMatchObject({ status: 404, code: 'agent.not-registered' })
  })
})

describe('chat completions', () => {
  test('an answer, whole and in chunks, with usage', async () => {
    let go = (): void => {}
    let isStreamed = false
    let said = 0
    // in the stream, the second chapter is not said to its end before its beginning was read
    const pause = (): Promise<void> =>
      isStreamed && ++said === 15 ? new Promise((resolve) => (go = resolve)) : Promise.resolve()
    const { url, errors } = await serving(office(pause).agents, [openai()])
    const client = clientFor(url)
    const whole = await client.chat.completions.create({ model: 'author', messages: user('A book.') })
    expect(whole.choices).toMatchObject([
      { finish_reason: 'stop', message: { role: 'assistant', content: book.join('\n\n') } },
    ])
    expect(whole.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0 })
    isStreamed = true
    const stream = await client.chat.completions.create({
      model: 'author',
      messages: user('A book.'),
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const ends: (string | null | undefined)[] = []
    const usages: unknown[] = []
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? ''
      if (text.includes('Chapter 1')) go()
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
      if (usage) usages.push(usage)
    }
    expect(text).toBe(book.join('\n\n'))
    expect(ends).toEqual(['stop'])
    expect(usages).toMatchObject([{ total_tokens: 0 }])
    const runner = client.chat.completions.stream({ model: 'author', messages: user('A book.') })
    expect(await runner.finalContent()).toBe(book.join('\n\n'))
    expect(errors).toEqual([])
  })

  test('a run that waits for a person is not finished: it says what waits, and the same key gives the answer later', async () => {
    const { agents, sent } = office()
    const { url, runtime } = await serving(agents, [openai()])
    const client = clientFor(url)
    const ask = () =>
      client.chat.completions.create(
        { model: 'office', messages: user('Greet Ann.') },
        { headers: { 'Idempotency-Key': 'greeting' } },
      )
    const first = await ask()
    const [approval] = await runtime.approvals()
    expect(first.choices[0]!.finish_reason).toBe('length')
    expect(first.choices[0]!.message.content).toContain(`waits for a person`)
    expect(first.choices[0]!.message.content).toContain(approval!.id)
    expect(first).toMatchObject({ reeve: { status: 'waiting', waiting: [{ id: approval!.id, tool: 'send_mail' }] } })
    const stream = await client.chat.completions.create(
      { model: 'office', messages: user('Greet Ann.'), stream: true },
      { headers: { 'Idempotency-Key': 'greeting' } },
    )
    const finishes: unknown[] = []
    for await (const { choices } of stream) if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason)
    expect(finishes).toEqual(['length'])
    await runtime.decide({ approvalId: approval!.id, decision: 'approve', approver: 'bob' })
    const second = await ask()
    expect(second.id).toBe(first.id)
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop' })
    expect(second.choices[0]!.message.content).toContain('Done: message 1.')
    expect(sent).toHaveLength(1)
    expect(await runtime.runs()).toHaveLength(1)
  })

  test('errors are those of the API', async () => {
    const { url, runtime } = await serving(office().agents, [openai()])
    const client = clientFor(url)
    const create = (body: object) =>
      thrown(client.chat.completions.create({ model: 'author', messages: user('x'), ...body } as never) as never)
    expect(await create({ model: 'gpt-5' })).toMatchObject({
      status: 404,
      code: 'agent.not-registered',
      param: 'model',
    })
    expect(await create({ messages: [] })).toMatchObject({ status: 400, code: 'input.invalid', param: 'messages' })
    expect(await create({ n: 2 })).toMatchObject({ status: 400, param: 'n', type: 'invalid_request_error' })
    const tools = [{ type: 'function', function: { name: 'x', parameters: {} } }]
    expect(await create({ tools })).toMatchObject({ status: 400, param: 'tools' })
    expect(await runtime.runs()).toEqual([])
    expect(
      await thrown(clientFor(url, 'vic').chat.completions.create({ model: 'author', messages: user('x') })),
    ).toMatchObject({
      status: 403,
      code: 'request.forbidden',
    })
    expect(await thrown(clientFor(url, 'nobody').models.list() as never)).toBeInstanceOf(OpenAI.AuthenticationError)
    // a failed run is not started again by the client's own retries
    const patient = clientFor(url, 'ann', { maxRetries: 2 })
    const failed = await thrown(patient.chat.completions.create({ model: 'failing', messages: user('x') }))
    expect(failed).toMatchObject({ status: 500, code: 'orchestration.threw' })
    expect(await runtime.runs()).toHaveLength(1)
    const stream = await patient.chat.completions.create({ model: 'failing', messages: user('x'), stream: true })
    const read = async (): Promise<void> => {
      for await (const _chunk of stream) void _chunk
    }
    expect(await thrown(read())).toMatchObject({ code: 'orchestration.threw' })
    const first = await client.chat.completions.create(
      { model: 'author', messages: user('x') },
      { headers: { 'Idempotency-Key': 'one' } },
    )
    const other = client.chat.completions.create(
      { model: 'author', messages: user('y') },
      { headers: { 'Idempotency-Key': 'one' } },
    )
    expect(await thrown(other)).toMatchObject({ status: 409, code: 'run.conflict' })
    expect(first.id).toMatch(/^chatcmpl-run_/)
  })

  test('the server is killed while it streams: the same key gives the whole answer of the same run', async () => {
    const store = storeFile()
    const first = await servedApart(store)
    const headers = { 'Idempotency-Key': 'a book' }
    const body = { model: 'author', messages: user('A book.'), stream: true } as const
    const stream = await clientFor(first.url).chat.completions.create(body, { headers })
    let before = ''
    let id = ''
    const read = async (): Promise<void> => {
      for await (const chunk of stream) {
        id = chunk.id
        before += chunk.choices[0]?.delta.content ?? ''
        if (before.includes('Chapter 1') && before.length < 200) await first.kill()
      }
    }
    await thrown(read())
    expect(before).toContain('Chapter 1')
    expect(before).not.toContain('Chapter 3')
    const second = await servedApart(store)
    let after = ''
    for await (const chunk of await clientFor(second.url).chat.completions.create(body, { headers })) {
      expect(chunk.id).toBe(id)
      after += chunk.choices[0]?.delta.content ?? ''
    }
    expect(after).toBe(book.join('\n\n'))
  })
})

describe('responses', () => {
  test('a response, whole and as events, and the next one of its conversation', async () => {
    const { url, runtime } = await serving(office().agents, [openai()])
    const client = clientFor(url)
    const whole = await client.responses.create({ model: 'author', input: 'A book.', metadata: { shelf: 'b' } })
    expect(whole).toMatchObject({
      status: 'completed',
      output_text: book.join(''),
      metadata: { shelf: 'b' },
      error: null,
    })
    expect(whole.usage?.total_tokens).toBe(0)
    const stream = client.responses.stream({ model: 'author', input: 'A book.' })
    const types = new Set<string>()
    const numbers: number[] = []
    for await (const event of stream) {
      types.add(event.type)
      numbers.push(event.sequence_number)
    }
    const final = await stream.finalResponse()
    expect(final).toMatchObject({ status: 'completed', output_text: book.join('') })
    expect(numbers).toEqual(numbers.map((_, i) => i))
    expect([...types]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(await client.responses.retrieve(final.id)).toMatchObject({ status: 'completed', output_text: book.join('') })
    const next = await client.responses.create({ model: 'author', input: 'More.', previous_response_id: whole.id })
    expect(next.previous_response_id).toBe(whole.id)
    const [a, b] = await Promise.all(
      [whole, next].map(({ id }) => runtime.handle(id.replace('resp_', 'run_')).summary()),
    )
    expect(b!.caller.session).toBe(a!.caller.session)
    const branch = client.responses.create({ model: 'author', input: 'Other.', previous_response_id: whole.id })
    expect(await thrown(branch)).toMatchObject({ status: 400, param: 'previous_response_id' })
  })

  test('an approval inside a worker is an approval request, and is answered by the next request', async () => {
    const { agents, sent } = office()
    const { url, runtime } = await serving(agents, [openai()])
    const client = clientFor(url)
    const first = await client.responses.create({ model: 'office', input: 'Greet Ann.' })
    expect(first.status).toBe('incomplete')
    expect(first.incomplete_details).toEqual({ reason: 'waiting_for_person' })
    const request = first.output.find((item) => item.type === 'mcp_approval_request')!
    expect(request).toMatchObject({ server_label: 'office/postman', name: 'send_mail' })
    expect(JSON.parse((request as { arguments: string }).arguments)).toEqual({ to: 'ann@example.org', text: 'Hello' })
    const busy = client.responses.create({ model: 'office', input: 'And?', previous_response_id: first.id })
    expect(await thrown(busy)).toMatchObject({ status: 409, code: 'session.busy' })
    const foreign = clientFor(url, 'bob').responses.retrieve(first.id)
    expect(await thrown(foreign)).toMatchObject({ status: 404, code: 'run.unknown' })
    const answer = (approve: boolean) => ({
      model: 'office',
      previous_response_id: first.id,
      input: [{ type: 'mcp_approval_response' as const, approval_request_id: (request as { id: string }).id, approve }],
    })
    const stream = client.responses.stream(answer(true))
    const final = await stream.finalResponse()
    expect(final).toMatchObject({ id: first.id, status: 'completed' })
    expect(final.output_text).toContain('Done: message 1.')
    expect(sent).toHaveLength(1)
    expect(await thrown(client.responses.create(answer(false)))).toMatchObject({
      status: 409,
      code: 'approval.already-decided',
    })
    const [run] = await runtime.runs()
    expect((await runtime.handle(run!.run).view()).approvals).toMatchObject([
      { resolution: 'approved', approver: 'ann' },
    ])
  })

  test('a question is a call of the client, and its output answers it', async () => {
    const { url } = await serving(office().agents, [openai()])
    const client = clientFor(url)
    const first = await client.responses.create({ model: 'asker', input: 'Where to?' })
    const call = first.output.find((item) => item.type === 'function_call')!
    expect(JSON.parse(call.arguments)).toMatchObject({ question: 'Which city?' })
    const second = await client.responses.create({
      model: 'asker',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Rome' }],
    })
    expect(second).toMatchObject({ status: 'completed', output_text: 'Off to Rome.' })
  })

  test('in the background: retrieved while it goes on, cancelled, streamed by another request', async () => {
    let go = (): void => {}
    let said = 0
    const pause = (): Promise<void> => (++said === 20 ? new Promise((resolve) => (go = resolve)) : Promise.resolve())
    const { url, runtime } = await serving(office(pause).agents, [openai()])
    const client = clientFor(url)
    const begun = await client.responses.create({ model: 'author', input: 'A book.', background: true })
    expect(begun).toMatchObject({ status: 'in_progress', background: true })
    const stream = await client.responses.retrieve(begun.id, { stream: true })
    let text = ''
    for await (const event of stream) {
      if (event.type !== 'response.output_text.delta') continue
      text += event.delta
      if (said >= 20) go()
    }
    expect(text).toBe(book.join(''))
    expect(await client.responses.retrieve(begun.id)).toMatchObject({ status: 'completed', output_text: book.join('') })
    const waiting = await client.responses.create({ model: 'office', input: 'Greet Ann.', background: true })
    await expect.poll(async () => (await runtime.approvals()).length).toBe(1)
    const now = await client.responses.retrieve(waiting.id)
    expect(now.status).toBe('in_progress')
    expect(now.output.map(({ type }) => type)).toContain('mcp_approval_request')
    expect(await client.responses.cancel(waiting.id)).toMatchObject({ status: 'cancelled' })
    const again = client.responses.retrieve(begun.id, { stream: true, starting_after: 3 } as never)
    expect(await thrown(again as never)).toMatchObject({ status: 400, param: 'starting_after' })
  })

  test('errors: a failed run, a response that is not there, a body that is none', async () => {
    const { url } = await serving(office().agents, [openai()])
    const client = clientFor(url)
    expect(await client.responses.create({ model: 'failing', input: 'x' })).toMatchObject({
      status: 'failed',
      error: { code: 'orchestration.threw', message: 'no paper left' },
    })
    expect(await thrown(client.responses.retrieve('resp_none'))).toMatchObject({ status: 404 })
    expect(await thrown(client.responses.retrieve('nothing'))).toMatchObject({ status: 404 })
    expect(await thrown(client.responses.create({ model: 'author', input: [] }))).toMatchObject({
      status: 400,
      param: 'input',
    })
    expect(await thrown(client.responses.create({ model: 'author', input: 'x', store: false }))).toMatchObject({
      status: 400,
      param: 'store',
    })
  })

  test('the server is killed while it streams: the response is there in the next one, and all of it is shown', async () => {
    const store = storeFile()
    const first = await servedApart(store)
    let id = ''
    const read = async (): Promise<void> => {
      const stream = await clientFor(first.url).responses.create({ model: 'author', input: 'A book.', stream: true })
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id } = event.response)
        if (event.type === 'response.output_item.done') await first.kill()
      }
    }
    await thrown(read())
    const second = await servedApart(store)
    const client = clientFor(second.url)
    expect((await client.responses.retrieve(id)).status).toBe('in_progress')
    const stream = client.responses.stream({ response_id: id })
    expect((await stream.finalResponse()).output_text).toBe(book.join(''))
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'completed', output_text: book.join('') })
  })
})
