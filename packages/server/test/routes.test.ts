/** Every group of routes: what is right, invalid, unknown and closed. Answers are held to the document by `serving`. */
import { expect, test, vi } from 'vitest'
import { agent, interrupt, team, tool } from '@reeve/public'
import { createServer } from '../src/index.ts'
import { asker, echo, payer } from '../../runtime/test/hand.ts'
import { itemsOf, serving } from './serving.ts'

const refused = (status: number, code: string): object => ({ status, body: { error: { code } } })

test('agents are listed with their tools and workers', async () => {
  const search = tool({
    name: 'search',
    description: 'Searches.',
    input: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    effect: 'read',
    execute: () => 'found',
  })
  const finder = agent({ name: 'finder', description: 'Finds.', model: () => 'x', tools: [search] })
  const { get } = await serving({ agents: [finder, echo] })
  expect(await get('/agents')).toMatchObject({
    status: 200,
    body: [
      { name: 'echo', workers: [], tools: [] },
      {
        name: 'finder',
        description: 'Finds.',
        tools: [{ name: 'search', description: 'Searches.', inputSchema: { required: ['q'] } }],
      },
    ],
  })
})

test('an approval of a tool that is known here has the schema of its arguments, and what is the same is equal', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    sensitive: true,
    execute: () => 'paid',
  })
  const clerk = agent({
    name: 'clerk',
    description: 'Pays.',
    tools: [pay],
    model: ({ messages }) => ({
      calls: [{ name: 'pay', input: { to: JSON.stringify(messages).includes('bob') ? 'bob' : 'ann' } }],
    }),
  })
  const { get, post, runtime } = await serving({ agents: [clerk] })
  for (const [runId, input] of [
    ['r1', 'ann'],
    ['r2', 'ann'],
    ['r3', 'bob'],
  ]) {
    await post('/runs', { agent: 'clerk', input, runId })
    await runtime.handle(runId!).until('waiting')
  }
  const open = itemsOf<{ readonly run: string; readonly same: string; readonly id: string }>(await get('/questions'))
  const sameOf = (run: string): string | undefined => open.find((each) => each.run === run)?.same
  expect(open).toMatchObject([{ inputSchema: { required: ['to'] }, path: ['clerk'] }, {}, {}])
  expect(sameOf('r1')).toBe(sameOf('r2'))
  expect(sameOf('r1')).not.toBe(sameOf('r3'))
  const first = await get('/questions?limit=2')
  const { next } = first.body as { readonly next: string }
  expect([...itemsOf(first), ...itemsOf(await get(`/questions?limit=2&after=${encodeURIComponent(next)}`))]).toEqual(
    open,
  )
  const { id } = open.find((each) => each.run === 'r3')!
  expect(await post(`/approvals/${id}/decision`, { decision: 'edit' })).toMatchObject(refused(400, 'approval.invalid'))
  expect(await post(`/approvals/${id}/decision`, { decision: 'edit', input: { to: 'eve' } })).toMatchObject({
    status: 204,
  })
})

test('a fork, the difference of two runs, delegations and the audit', async () => {
  const { get, post, runtime } = await serving({ agents: [payer, echo] })
  await post('/runs', { agent: 'payer', input: 'pay', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  const [{ id } = { id: '' }] = itemsOf(await get('/questions'))
  await post(`/approvals/${id}/decision`, { decision: 'approve', comment: 'fine' })
  await runtime.handle('r1').outcome()
  const fork = { at: 1, runId: 'r2', reason: 'again' }
  expect(await post('/runs/r1/fork', fork)).toMatchObject({ status: 201, body: { run: 'r2' } })
  expect(await post('/runs/r1/fork', fork)).toMatchObject({ status: 200 })
  expect(await post('/runs/r1/fork', { ...fork, at: 2 })).toMatchObject({ status: 409 })
  expect(await post('/runs/r1/fork', { at: 1_000 })).toMatchObject(refused(400, 'fork.invalid'))
  expect(await post('/runs/none/fork')).toMatchObject(refused(404, 'run.unknown'))
  expect(await get('/runs/r1/diff/r2')).toMatchObject({
    status: 200,
    body: { differences: expect.any(Array) as unknown },
  })
  expect(await get('/runs/r1/diff/none')).toMatchObject(refused(404, 'run.unknown'))
  expect(await get('/runs/r1/delegations')).toMatchObject({ status: 200, body: [] })
  expect(await get('/runs/r1/audit')).toMatchObject({ status: 200, body: { document: { head: { run: 'r1' } } } })
  await runtime.handle('r2').control.cancel()
  await runtime.handle('r2').outcome()
})

test('a run is removed once it has ended', async () => {
  const { get, post, remove, runtime } = await serving({ agents: [asker] })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  expect(await remove('/runs/r1')).toMatchObject(refused(409, 'run.conflict'))
  await post('/runs/r1/cancel')
  await runtime.handle('r1').outcome()
  expect(await remove('/runs/r1')).toMatchObject({ status: 204 })
  expect(await get('/runs/r1')).toMatchObject(refused(404, 'run.unknown'))
  expect(await remove('/runs/r1')).toMatchObject(refused(404, 'run.unknown'))
})

test('a run is taken over, and handed back or finished by hand', async () => {
  const { get, post, runtime } = await serving({ agents: [asker] })
  await post('/runs', { agent: 'asker', input: 'ask', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  expect(await post('/runs/r1/hand-back')).toMatchObject(refused(409, 'run.not-taken-over'))
  expect(await post('/runs/r1/finish', { output: 1 })).toMatchObject(refused(409, 'run.not-taken-over'))
  expect(await get('/runs/r1/takeover-context')).toMatchObject({ status: 200 })
  expect(await post('/runs/r1/take-over', { reason: 'mine' })).toMatchObject({ status: 200, body: { takenOver: true } })
  expect(await post('/runs/r1/resume')).toMatchObject(refused(409, 'run.taken-over'))
  expect(await post('/runs/r1/hand-back', { reason: 'done' })).toMatchObject({ status: 204 })
  await post('/runs/r1/take-over')
  expect(await post('/runs/r1/finish', { output: 'by hand' })).toMatchObject({ status: 204 })
  expect(await get('/runs/r1/outcome?waitMs=9000')).toMatchObject({ body: { outcome: { output: 'by hand' } } })
  expect(await post('/runs/r1/take-over')).toMatchObject(refused(409, 'run.ended'))
  expect(await post('/runs/r1/stop', { delegation: 'd1' })).toMatchObject({ status: 404 })
  expect(await post('/runs/r1/complete', { delegation: 'd1', output: 1 })).toMatchObject({ status: 404 })
  expect(await post('/runs/r1/messages', { to: 'act_r2', message: 'hi' })).toMatchObject(refused(400, 'input.invalid'))
  expect(await post('/runs/r1/messages', { to: 'act_r1', message: 'hi' })).toMatchObject({ body: { result: 'closed' } })
})

const worker = agent({
  name: 'worker',
  description: 'Works until it is let go.',
  run: async (ctx, brief) => (brief === 'wait' ? interrupt(ctx, 'May I go?') : brief),
})
const crew = team({
  name: 'crew',
  roles: { generalist: worker },
  recruit: { policy: () => 'allow' },
  maxTeamSize: 2,
  tolerance: 100,
  planner: { subtasks: [{ id: 'w', description: 'wait', role: 'waiter' }] },
})

test('members join, are written to, and leave', async () => {
  const { post, runtime } = await serving({ agents: [crew, echo] })
  await post('/runs', { agent: 'crew', input: 'Go', runId: 'r1' })
  await runtime.handle('r1').until('waiting')
  const wish = { description: 'help', role: 'scout', requestId: 'q1' }
  expect(await post('/runs/r1/team/recruit', wish)).toMatchObject({ status: 200, body: { admitted: true } })
  expect(await post('/runs/r1/team/recruit', { description: 'more' })).toMatchObject({ body: { admitted: false } })
  expect(await post('/runs/r1/team/post', { to: '*', content: 'hello' })).toMatchObject({
    body: { result: 'accepted' },
  })
  expect(await post('/runs/r1/team/post', { to: '*' })).toMatchObject(refused(400, 'input.invalid'))
  expect(await post('/runs/r1/team/retire', { member: 'waiter_1', mode: 'force', reassign: false })).toMatchObject({
    status: 200,
  })
  await runtime.handle('r1').outcome()
  expect(await post('/runs/r1/team/post', { to: '*', content: 'late' })).toMatchObject({ body: { result: 'closed' } })
})

test('trust, versions, grants and sessions', async () => {
  const trusted = agent({ name: 'analyst', description: 'Looks.', model: () => 'x', oversight: { trust: 'analysts' } })
  const { get, post, remove, runtime } = await serving({ agents: [trusted, echo] })
  expect(await get('/trust/analysts')).toMatchObject({ status: 200, body: { name: 'analysts', level: 'novice' } })
  expect(await post('/trust/analysts/level', { level: 'expert', reason: 'known' })).toMatchObject({
    body: { level: 'expert' },
  })
  expect(await post('/trust/analysts/level', { level: 'guru', reason: 'known' })).toMatchObject({ status: 400 })
  expect(await post('/trust/analysts/incidents', { severity: 'serious' })).toMatchObject({ body: { level: 'novice' } })
  expect(await post('/trust/nobody/incidents', { severity: 'minor' })).toMatchObject(refused(400, 'trust.invalid'))
  expect(await get('/trust')).toMatchObject({ body: [{ history: [{}, { by: 'operator' }, { by: 'operator' }] }] })

  const revision = { version: 'v2', instructions: 'Be brief.' }
  expect(await post('/versions/analyst', { status: 'draft', revision })).toMatchObject({ status: 204 })
  expect(await post('/versions/analyst', { status: 'published', version: 'v2' })).toMatchObject({ status: 204 })
  expect(
    await post('/versions/analyst', { status: 'draft', revision: { ...revision, instructions: 'x' } }),
  ).toMatchObject(refused(409, 'version.conflict'))
  expect(await post('/versions/none', { status: 'draft', revision })).toMatchObject(
    refused(404, 'agent.not-registered'),
  )
  expect(await post('/versions/analyst', { status: 'draft' })).toMatchObject(refused(400, 'input.invalid'))
  expect(await get('/versions?agent=analyst')).toMatchObject({ body: [{ status: 'published', by: 'operator' }] })

  for (const runId of ['r1', 'r2']) {
    await post('/runs', { agent: 'echo', input: runId, runId, session: 's1', user: 'ann' })
    await runtime.handle(runId).outcome()
  }
  expect(await get('/sessions')).toMatchObject({
    body: { items: [{ session: 's1', user: 'ann', runs: 2, lastRun: 'r2' }] },
  })
  expect(itemsOf<object>(await get('/sessions/s1'))).toMatchObject([{ run: 'r2' }, { run: 'r1' }])
  expect(await get('/grants?session=s1')).toMatchObject({ status: 200, body: [] })
  expect(await get('/grants?run=none')).toMatchObject(refused(404, 'run.unknown'))
  expect(await get('/grants')).toMatchObject(refused(400, 'input.invalid'))
  expect(await remove('/grants?session=s1')).toMatchObject({ body: { revoked: 0 } })
})

test('a method that a path does not take is 405 with what it takes; a query is checked like a body', async () => {
  const { get, remove, post } = await serving({ agents: [echo] })
  const answer = await remove('/runs/r1/pause')
  expect(answer).toMatchObject(refused(405, 'request.wrong-method'))
  expect(answer.headers.get('Allow')).toBe('POST')
  for (const query of ['limit=0', 'limit=x', 'limit=1&limit=2', 'status=done', 'stauts=failed', 'limit=1.5'])
    expect(await get(`/runs?${query}`), query).toMatchObject(refused(400, 'input.invalid'))
  expect(await get('/runs?status=failed,completed&status=running')).toMatchObject({ status: 200 })
  const sent = await post('/runs', 'agent=echo', { 'Content-Type': 'text/plain' })
  expect(sent).toMatchObject(refused(415, 'request.not-json'))
})

test('runs are found by what they are, page by page; a cursor that is none is refused', async () => {
  const { runtime, get } = await serving({ agents: [echo] })
  for (const n of [1, 2, 3, 4, 5])
    await runtime.run(echo, 'hi', { runId: `r${n}`, user: n < 4 ? 'ann' : 'bob', metadata: { order: n } })
  const listed = async (query: string): Promise<readonly string[]> =>
    itemsOf<{ readonly run: string }>(await get(`/runs?${query}`)).map(({ run }) => run)
  expect(await listed('user=ann')).toEqual(['r3', 'r2', 'r1'])
  expect(await listed('user=ann&metadata.order=2')).toEqual(['r2'])
  expect(await listed('metadata.order="2"')).toEqual([])
  expect(await listed('status=failed')).toEqual([])
  const first = await get('/runs?limit=3')
  const { next } = first.body as { readonly next: string }
  expect(await listed(`limit=3&after=${encodeURIComponent(next)}`)).toEqual(['r2', 'r1'])
  expect((await get('/runs?limit=5')).body).not.toHaveProperty('next')
  expect(await get('/runs?after=nonsense')).toMatchObject({ status: 400, body: { error: { code: 'input.invalid' } } })
})

test('a run that failed is retried once, many by a filter; what cannot be retried says why', async () => {
  let works = false
  const fails = agent({ name: 'fails', run: () => (works ? Promise.resolve('done') : Promise.reject(new Error('no'))) })
  const { runtime, get, post } = await serving({ agents: [fails, asker] })
  for (const n of [1, 2, 3]) await runtime.run(fails, 'go', { runId: `r${n}`, user: n === 3 ? 'bob' : 'ann' })
  await runtime.start(asker, 'go', { runId: 'w1' })
  works = true
  const first = await post('/runs/r1/retry', { reason: 'mended' })
  expect(first).toMatchObject({
    status: 201,
    body: {
      run: expect.any(String),
      from: { agent: 'fails', redoes: 'code' },
      discarded: { modelCalls: 0, effects: 0 },
    },
  })
  expect(await post('/runs/r1/retry')).toMatchObject({ status: 200, body: first.body })
  const { run } = first.body as { readonly run: string }
  expect(await get(`/runs/${run}/outcome?waitMs=5000`)).toMatchObject({ body: { outcome: { output: 'done' } } })
  expect(await post('/runs/r1/retry', { again: true, runId: 'r1b' })).toMatchObject({
    status: 201,
    body: { run: 'r1b' },
  })
  expect(await post('/runs/r1/retry', { again: true, runId: 'r2' })).toMatchObject(refused(409, 'run.conflict'))
  expect(await post('/runs/w1/retry')).toMatchObject(refused(400, 'fork.invalid'))
  expect(await post(`/runs/${run}/retry`)).toMatchObject(refused(400, 'fork.invalid'))
  expect(await post('/runs/none/retry')).toMatchObject(refused(404, 'run.unknown'))
  const retry = { verb: 'retry', filter: { user: 'ann' }, id: 'b1', reason: 'mended' }
  expect(await post('/batches', retry)).toMatchObject({
    status: 201,
    body: { id: 'b1', verb: 'retry', filter: { user: 'ann', status: ['failed'] }, reason: 'mended', by: 'operator' },
  })
  const ended = await vi.waitUntil(async () => {
    const { body } = await get('/batches/b1')
    return (body as { readonly status: string }).status === 'completed' ? body : undefined
  }, 25_000)
  expect(ended).toMatchObject({ total: 2, done: 1, before: 1, refused: 0, left: 0, causes: [] })
  expect(await post('/batches', retry)).toMatchObject({ status: 200, body: ended })
  expect(await get('/batches')).toMatchObject({ body: { items: [{ id: 'b1' }] } })
  expect(await post('/batches/b1/cancel')).toMatchObject(refused(409, 'run.ended'))
  expect(await post('/batches', { verb: 'retry', filter: {} })).toMatchObject(refused(400, 'input.invalid'))
  expect(await post('/batches', { ...retry, id: 'b2', by: 'eve' })).toMatchObject(refused(400, 'input.invalid'))
  expect(await post('/batches', { ...retry, id: 'b2', scope: {} })).toMatchObject(refused(400, 'input.invalid'))
  expect(await post('/batches', { verb: 'retry', filter: { status: ['completed'] } })).toMatchObject(
    refused(400, 'input.invalid'),
  )
  expect(await get('/batches/r1')).toMatchObject(refused(404, 'run.unknown'))
})

test('questions come page by page, none twice and none left out while others are answered', async () => {
  const { runtime, get, post } = await serving({ agents: [asker, payer] })
  for (const n of [1, 2, 3, 4, 5, 6]) {
    await runtime.start(n === 3 ? payer : asker, 'go', { runId: `r${n}` })
    await vi.waitUntil(async () => (await runtime.questions()).length === n, 25_000)
  }
  const page = async (query: string): Promise<{ readonly runs: readonly string[]; readonly next?: string }> => {
    const answer = await get(`/questions?${query}`)
    const { next } = answer.body as { readonly next?: string }
    return { runs: itemsOf<{ readonly run: string }>(answer).map(({ run }) => run), ...(next && { next }) }
  }
  const first = await page('limit=2')
  expect(first.runs).toEqual(['r1', 'r2'])
  // the last one of the page is answered before the next one is asked for
  const [, second] = await runtime.questions()
  expect(await post(`/interrupts/${second!.id}/answer`, { value: 1 })).toMatchObject({ status: 204 })
  const after = await page(`limit=2&after=${encodeURIComponent(first.next!)}`)
  expect(after.runs).toEqual(['r3', 'r4'])
  const last = await page(`limit=2&after=${encodeURIComponent(after.next!)}`)
  expect(last).toEqual({ runs: ['r5', 'r6'] })
  expect(await page('kind=approval')).toEqual({ runs: ['r3'] })
  const some = await page('kind=approval,interrupt&limit=3')
  expect(some.runs).toEqual(['r1', 'r3', 'r4'])
  expect((await page(`kind=interrupt,diverged&limit=9&after=${encodeURIComponent(some.next!)}`)).runs).toEqual([
    'r5',
    'r6',
  ])
  expect(await get('/questions?after=nonsense')).toMatchObject(refused(400, 'input.invalid'))
})

test('a number that is none, and a body that is packed, are refused', async () => {
  const { get, post } = await serving({ agents: [echo] })
  await post('/runs', { agent: 'echo', input: 'hi', runId: 'r1' })
  expect(await get(`/runs/r1/spans?after=${'9'.repeat(400)}`)).toMatchObject(refused(400, 'input.invalid'))
  const packed = await post('/runs', { agent: 'echo', input: 'hi' }, { 'Content-Encoding': 'gzip' })
  expect(packed).toMatchObject(refused(415, 'request.not-json'))
})

test('a caller who leaves while a command waits, and a server that closes, are no error of the server', async () => {
  const { runtime } = await serving({ agents: [asker], drive: false })
  await runtime.start(asker, 'go', { runId: 'r1' })
  for (const leaves of ['caller', 'server'] as const) {
    const errors: unknown[] = []
    const server = createServer({ runtime, onError: (error) => errors.push(error) })
    const begun = vi.spyOn(runtime, 'handle')
    const left = new AbortController()
    const init = { method: 'POST', headers: { Authorization: `Bearer ${server.token}` }, signal: left.signal }
    // it waits for a process that drives the run: there is none
    const answer = server.fetch(new Request('http://127.0.0.1/api/runs/r1/take-over', init))
    await vi.waitUntil(() => begun.mock.calls.length > 0, 25_000)
    if (leaves === 'caller') left.abort()
    else server.close()
    expect((await answer).status).toBe(503)
    expect(errors).toEqual([])
    begun.mockRestore()
  }
})
