/** The server over real HTTP: starting, looking, deciding, following. */
import { expect, test } from 'vitest'
import { asker, echo, payer } from '../../runtime/test/hand.ts'
import { itemsOf, sentEvents, serving, type Sent } from './serving.ts'

test('a run is started, decided over HTTP, and read to its end', async () => {
  const { token, get, post, server, runtime } = await serving({ agents: [payer] })
  expect(await get('/health')).toMatchObject({ status: 200, body: { ok: true } })
  const started = await post('/runs', { agent: 'payer', input: 'pay', runId: 'r1' })
  expect(started).toMatchObject({ status: 201, body: { run: 'r1' } })
  await runtime.handle('r1').until('waiting')
  const open = itemsOf(await get('/questions'))
  expect(open).toMatchObject([{ kind: 'approval', run: 'r1', agent: 'payer', user: 'operator', mayAnswer: true }])
  const [{ id } = { id: '' }] = open
  expect(await get(`/questions/${id}`)).toMatchObject({ status: 200, body: open[0] })
  expect(await get('/runs/r1/outcome')).toMatchObject({ status: 202, body: { run: 'r1', status: 'waiting' } })
  expect(await post(`/approvals/${id}/decision`, { decision: 'approve', inputHash: 'another' })).toMatchObject({
    status: 400,
    body: { error: { code: 'approval.invalid' } },
  })
  expect(await post(`/approvals/${id}/decision`, { decision: 'approve' })).toMatchObject({ status: 204 })
  expect(await post(`/approvals/${id}/decision`, { decision: 'reject' })).toMatchObject({
    status: 409,
    body: { error: { code: 'approval.already-decided', retryable: false } },
  })
  expect(await get('/runs/r1/outcome?waitMs=9000')).toMatchObject({ status: 200, body: { status: 'completed' } })
  expect(itemsOf(await get('/runs'))).toMatchObject([{ run: 'r1', status: 'completed' }])
  expect((await get('/runs/r1')).body).toMatchObject({
    approvals: [{ id, resolution: 'approved', approver: 'operator' }],
  })
  const events = await runtime.handle('r1').journal()
  expect((await get('/runs/r1/events')).body).toEqual({ items: events })
  const pages: unknown[] = []
  for (let after: string | undefined = '0'; after !== undefined;) {
    const page = await get(`/runs/r1/events?after=${after}&limit=2`)
    pages.push(...itemsOf<unknown>(page))
    after = (page.body as { readonly next?: string }).next
  }
  expect(pages).toEqual(events)
  const feed = await fetch(`${server.url}/api/runs/r1/feed`, { headers: { Authorization: `Bearer ${token}` } })
  expect(feed.headers.get('Content-Type')).toBe('text/event-stream; charset=utf-8')
  const sent: Sent[] = []
  for await (const each of sentEvents(feed)) sent.push(each)
  expect(sent.at(-1)).toEqual({ data: { type: 'end' } })
  expect(sent.slice(0, -1)).toEqual(events.map((event) => ({ id: event.position, data: { type: 'event', event } })))
})

test('an interrupt is answered, and only once', async () => {
  const { get, post, runtime } = await serving({ agents: [asker] })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  const [{ id } = { id: '' }] = itemsOf(await get('/questions?run=r1&kind=interrupt'))
  expect(await post(`/interrupts/${id}/answer`, { value: 'blue' })).toMatchObject({ status: 204 })
  expect(await post(`/interrupts/${id}/answer`, { value: 'red' })).toMatchObject({ status: 409 })
  expect(await post(`/interrupts/int_none/answer`, { value: 'red' })).toMatchObject({ status: 404 })
})

test('a start is idempotent by its run id, or by the key of its header', async () => {
  const { post } = await serving({ agents: [echo] })
  const body = { agent: 'echo', input: 'hello' }
  expect(await post('/runs', { ...body, runId: 'r1' })).toMatchObject({ status: 201 })
  expect(await post('/runs', { ...body, runId: 'r1' })).toMatchObject({ status: 200, body: { run: 'r1' } })
  expect(await post('/runs', { ...body, input: 'other', runId: 'r1' })).toMatchObject({
    status: 409,
    body: { error: { code: 'run.conflict' } },
  })
  const first = await post('/runs', body, { 'Idempotency-Key': 'a key/of mine' })
  const again = await post('/runs', body, { 'Idempotency-Key': 'a key/of mine' })
  expect([first.status, again.status]).toEqual([201, 200])
  expect(again.body).toEqual(first.body)
})

test.each<[string, unknown, string]>([
  ['an unknown member', { agnet: 'echo', input: 'x' }, 'did you mean \\"agent\\"'],
  ['a wrong type', { agent: 7, input: 'x' }, 'must be a string'],
  ['a missing member', { agent: 'echo' }, '"input\\" is missing'],
  ['what is no JSON', '{"agent":', 'not valid JSON'],
  [
    'a number that would be rounded',
    '{"agent":"echo","input":{"id":9007199254740993}}',
    'body.input.id is 9007199254740993',
  ],
  ['a number beyond all', '{"agent":"echo","input":[1e400]}', 'body.input[0] is 1e400'],
  ['a member twice', '{"agent":"echo","input":"x","input":"y"}', 'body.input stands twice'],
  ['a list', [1], 'must be an object'],
  ['a prototype', '{"agent":"echo","input":"x","__proto__":{"user":"eve"}}', '__proto__'],
])('refuses %s, and starts nothing', async (_what, body, words) => {
  const { post, get } = await serving({ agents: [echo] })
  const answer = await post('/runs', body)
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'input.invalid' } } })
  expect(JSON.stringify(answer.body)).toContain(words)
  expect(itemsOf(await get('/runs'))).toEqual([])
})

test('what is not there is 404 with a code, and a closed server refuses', async () => {
  const { get, post, server } = await serving({ agents: [echo] })
  for (const path of ['/runs/none', '/runs/none/feed', '/runs/none/events', '/runs/none/outcome', '/runs/none/control'])
    expect(await get(path)).toMatchObject({ status: 404, body: { error: { code: 'run.unknown' } } })
  expect(await get('/nothing')).toMatchObject({ status: 404, body: { error: { code: 'request.unknown-path' } } })
  expect(await post('/runs/none/pause')).toMatchObject({ status: 404 })
  await server.close()
  await expect(get('/health')).rejects.toThrow('fetch failed')
})

test('pause, resume and cancel under the name of the principal', async () => {
  const { get, post, runtime } = await serving({ agents: [asker] })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  expect(await post('/runs/r1/pause', { reason: 'lunch' })).toMatchObject({ status: 204 })
  await expect.poll(() => get('/runs/r1')).toMatchObject({ body: { pause: { by: 'operator', reason: 'lunch' } } })
  expect(await post('/runs/r1/pause', { by: 'eve' })).toMatchObject({ status: 400 })
  expect(await post('/runs/r1/resume')).toMatchObject({ status: 204 })
  expect(await post('/runs/r1/cancel', { reason: 'enough' })).toMatchObject({ status: 204 })
  expect(await get('/runs/r1/outcome?waitMs=9000')).toMatchObject({ body: { status: 'cancelled' } })
  expect(await get('/runs/r1/control')).toMatchObject({ status: 200 })
})
