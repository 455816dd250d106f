/** `reeve post`: mail to members of a planned team, from a terminal that runs nothing. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../../src/cli/program.ts'
import { agent, createRuntime, team, teammate } from '../../src/index.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-post-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function reeve(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main(['--store', join(folder, 'x.db'), ...args], {
    terminal,
    cwd: folder,
    interrupted: new AbortController().signal,
    version: '1.2.3',
  })
  return { code, out: terminal.written, err: terminal.notes }
}

test('a message reaches whoever waits for it; what reads as JSON is JSON; a team that has ended takes none', async () => {
  const waits = agent({
    name: 'waits',
    description: 'Waits.',
    run: async (ctx) => {
      const [first] = await teammate(ctx).nextMail({ from: 'operator' })
      const [second] = await teammate(ctx).nextMail({ from: 'operator' })
      return [first!, second!].map(({ content, kind, correlationId }) => ({ content, kind, correlationId }))
    },
  })
  const root = team({ name: 'crew', roles: { waits }, planner: { subtasks: [{ id: 'w', description: 'w', role: 'waits' }] }, route: 'dag' })
  await using runtime = await createRuntime({ store: join(folder, 'x.db'), agents: [root] })
  const run = await runtime.start(root, 'Go', { runId: 'run_p' })
  for await (const { event } of run.events()) if (event.type === 'task.started') break
  expect(await reeve('post', 'run_p', 'waits_1', '{"page":2}', '--kind', 'request', '--about', 'w')).toMatchObject({
    code: 0,
    out: expect.stringContaining('The team of run_p has the message.') as string,
  })
  expect(await reeve('post', 'run_p', 'role:Waits', '{"page":2}', '--text', '--team', 'crew')).toMatchObject({ code: 0 })
  expect(await run.outcome()).toMatchObject({
    results: { tasks: [{ output: [{ content: { page: 2 }, kind: 'request', correlationId: 'w' }, { content: '{"page":2}' }] }] },
  })
  expect(await reeve('post', 'run_p', 'waits_1', 'late')).toMatchObject({
    code: 1,
    out: 'Nothing was sent: the team of run_p has ended.\n',
  })
  expect(await reeve('post', 'run_p', ' ', 'x')).toMatchObject({ err: expect.stringContaining('"to" is the text " "') as string })
  expect((await reeve('post', 'run_p', 'waits_1', 'x', '--team', 'other')).err).toContain('there is no team "other"')
  expect(await reeve('post', 'run_none', 'a', 'x')).toMatchObject({ code: 2, err: expect.stringContaining('run_none') as string })
})
