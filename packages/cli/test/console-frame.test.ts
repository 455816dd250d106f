/** What `reeve watch` shows fits the screen, whatever is in it; wide characters count as two columns. */
import { describe, expect, test } from 'vitest'
import { agent, approve, createRuntime, interrupt, supervisor, team, tool } from '@reeve/public'
import { teammate } from '@reeve/public/team'
import { clip, listFrame, runFrame, type Frame, type ListEntry } from '../src/console/frame.ts'

/** As terminals count: East Asian wide and fullwidth characters, and emoji, take two columns. */
const widthOf = (text: string): number =>
  [...text].reduce(
    (sum, char) =>
      sum +
      (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        char,
      )
        ? 2
        : 1),
    0,
  )

const sizes = [
  [80, 24],
  [40, 12],
  [40, 10],
  [30, 6],
  [132, 50],
] as const

function mustFit({ lines }: Frame, columns: number, rows: number): void {
  expect(lines).toHaveLength(rows)
  expect(lines.filter(({ text }) => widthOf(text) > columns)).toEqual([])
  // eslint-disable-next-line no-control-regex
  expect(lines.filter(({ text }) => /[\u0000-\u001f\u007f-\u009f\u202e]/u.test(text))).toEqual([])
}

const hostile = `送金${'金'.repeat(90)}\u001b[2J\u202e${'x'.repeat(200)}\n  approved: yes`
const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  tools: [pay],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ name: 'pay', input: { to: hostile, why: hostile } }] },
})
const boss = supervisor({
  name: 'boss',
  workers: [clerk],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: hostile } }] },
})
const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, hostile) })
const crew = team({
  name: 'crew',
  routing: { communicating: true },
  roles: {
    talker: agent({
      name: 'talker',
      description: 'Talks.',
      run: async (ctx) => {
        for (let i = 0; i < 6; i++) await teammate(ctx).send({ to: 'lead', kind: 'info', content: `${i} ${hostile}` })
        return (await approve(ctx, { tool: 'go', toolVersion: '1', input: { hostile }, reason: hostile })).approved
      },
    }),
  },
  planner: { subtasks: [{ id: 'talk', description: hostile, role: 'talker' }] },
})

describe('every screen fits', () => {
  test('the list, and each run with its request, in any size', async () => {
    await using runtime = await createRuntime({ agents: [boss, asks, crew] })
    const runs = [await runtime.start(boss, 'Go'), await runtime.start(asks, 'Go'), await runtime.start(crew, 'Go')]
    for (const run of runs) await run.until('waiting')
    const questions = await runtime.questions()
    const approvals = await runtime.approvals()
    expect([questions.length, approvals.length]).toEqual([3, 2])
    const entries: ListEntry[] = [
      ...questions.map((question): ListEntry => {
        const approval = approvals.find(({ id }) => id === question.id)
        return { type: 'question', question, ...(approval === undefined ? {} : { approval }) }
      }),
      ...(await runtime.runs()).map((run): ListEntry => ({ type: 'run', run })),
    ]
    for (const [columns, rows] of sizes) {
      const size = { columns, rows, now: Date.now() }
      const footers = [{ message: hostile }, { message: '', prompt: { label: hostile, text: hostile } }]
      for (const footer of footers) {
        for (const selected of [0, entries.length - 1]) {
          const frame = listFrame({ entries, selected, hasMore: true, isDriven: true }, size, footer)
          mustFit(frame, columns, rows)
          expect(frame.lines.filter(({ text }) => text.startsWith('>'))).toHaveLength('prompt' in footer ? 2 : 1)
        }
        for (const run of runs) {
          const view = await run.view()
          const left = { undriven: `no process drives it: ${hostile}` }
          const requests = entries.filter((each) => each.type === 'question' && each.question.run === run.id)
          for (const scroll of [0, 3, 1_000])
            for (const more of [{}, left])
              mustFit(
                runFrame({ view, requests, selected: 0, scroll, hasList: true, ...more }, size, footer),
                columns,
                rows,
              )
        }
      }
    }
  })

  test('a long request is whole only at its end, and says how much is below', async () => {
    await using runtime = await createRuntime({ agents: [boss] })
    const run = await runtime.start(boss, 'Go')
    await run.until('waiting')
    const [question] = await runtime.questions()
    const [approval] = await runtime.approvals()
    const requests: ListEntry[] = [{ type: 'question', question: question!, approval: approval! }]
    const view = await run.view()
    const at = (scroll: number): Frame =>
      runFrame(
        { view, requests, selected: 0, scroll, hasList: true },
        { columns: 80, rows: 14, now: Date.now() },
        { message: '' },
      )
    expect(at(0).isWhole).toBe(false)
    expect(at(0).lines.some(({ text }) => /── request, \d+ more lines below: ↓ ──/.test(text))).toBe(true)
    expect(at(1_000).isWhole).toBe(true)
    expect(at(1_000).lines.some(({ text }) => text.includes(approval!.id))).toBe(true)
  })

  test.each([40, 80, 200])('no character of a request is cut off at %i columns', async (columns) => {
    const value = Array.from({ length: 300 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('') + 'abc'.repeat(200)
    const one = agent({ name: 'one', tools: [pay], model: () => ({ calls: [{ name: 'pay', input: { value } }] }) })
    await using runtime = await createRuntime({ agents: [one] })
    const run = await runtime.start(one, 'Go')
    await run.until('waiting')
    const requests: ListEntry[] = [
      { type: 'question', question: (await runtime.questions())[0]!, approval: (await runtime.approvals())[0]! },
    ]
    const { lines, isWhole } = runFrame(
      { view: await run.view(), requests, selected: 0, scroll: 0, hasList: false },
      { columns, rows: 200, now: Date.now() },
      { message: '' },
    )
    expect(isWhole).toBe(true)
    const shown = lines.slice(1, -1).map(({ text }) => text)
    expect(shown.filter((text) => text.endsWith('…'))).toEqual([])
    expect(shown.map((text) => text.replace('    │ ', '')).join('')).toContain(`  value: "${value}"`)
  })

  test('the end of a request is whole only where its last line is on the screen', async () => {
    await using runtime = await createRuntime({ agents: [boss] })
    const run = await runtime.start(boss, 'Go')
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    const requests: ListEntry[] = [{ type: 'question', question: (await runtime.questions())[0]!, approval: approval! }]
    const view = await run.view()
    for (let rows = 2; rows <= 24; rows++)
      for (const message of ['', hostile]) {
        const { lines, isWhole } = runFrame(
          { view, requests, selected: 0, scroll: 1_000, hasList: true },
          { columns: 40, rows, now: Date.now() },
          { message },
        )
        expect([rows, isWhole]).toEqual([rows, lines.some(({ text }) => text.trim() === approval!.id)])
        expect([rows, isWhole || rows < 8]).toEqual([rows, true])
      }
  })

  test('requests that read the same show their run; the keys that apply fit 80 columns, the way out first', async () => {
    await using runtime = await createRuntime({ agents: [asks, clerk] })
    await (await runtime.start(asks, 'Go', { runId: 'run_asks' })).until('waiting')
    const run = await runtime.start(clerk, 'Go', { runId: 'run_pays' })
    await run.until('waiting')
    const size = { columns: 80, rows: 24, now: Date.now() }
    const entries: ListEntry[] = (await runtime.questions()).map((question) => ({ type: 'question', question }))
    const list = listFrame({ entries, selected: 0, hasMore: false, isDriven: true }, size, { message: '' })
    expect(list.isWhole).toBe(false)
    expect(list.lines[1]!.text).toMatch(/… {2}interrupt {2}run_asks {2}\S+s$/)
    const keysOf = async (requests: readonly ListEntry[]): Promise<string> =>
      runFrame({ view: await run.view(), requests, selected: 0, scroll: 0, hasList: true }, size, {
        message: '',
      }).lines.at(-1)!.text
    const [question, approval] = [(await runtime.questions({ run: run.id }))[0]!, (await runtime.approvals())[0]!]
    expect(await keysOf([{ type: 'question', question, approval }])).toBe(
      'q leave  a approve  r reject  e edit  s send back  p pause  c cancel  Esc list',
    )
    // a deadline that has passed: nothing is decided any more
    const expired = { ...question, until: size.now - 1 }
    expect(await keysOf([{ type: 'question', question: expired, approval }])).toBe(
      'q leave  p pause  c cancel  Esc list',
    )
    expect(await keysOf([])).toBe('q leave  p pause  c cancel  Esc list')
  })

  test('what is typed ends at the cursor; arguments of a megabyte are typed on without a wait', () => {
    const text = `${'漢字abc '.repeat(200_000)}the end`
    const { lines } = listFrame(
      { entries: [], selected: 0, hasMore: false, isDriven: true },
      { columns: 24, rows: 10, now: 0 },
      { message: '', prompt: { label: 'Edit', text } },
    )
    expect(lines.at(-1)!.text).toBe('> abc 漢字abc the end_')
  })

  test('a message of several lines is shown, with the command in it', async () => {
    const message = `✓ Approved apr_${'0'.repeat(20)}. If no worker is running: reeve resume run_${'1'.repeat(20)} --store x.db`
    const { lines } = listFrame(
      { entries: [], selected: 0, hasMore: false, isDriven: true },
      { columns: 80, rows: 24, now: 0 },
      { message },
    )
    expect(lines.map(({ text }) => text.replace('    │ ', '')).join('')).toContain(message)
  })

  test('a run without mail and questions shows its tree; an empty list says so', async () => {
    await using runtime = await createRuntime({ agents: [asks] })
    const empty = listFrame(
      { entries: [], selected: 0, hasMore: false, isDriven: true },
      { columns: 80, rows: 24, now: 0 },
      { message: '' },
    )
    mustFit(empty, 80, 24)
    expect(empty.lines[1]!.text).toBe('Nothing waits and nothing runs.')
    const run = await runtime.start(asks, 'Go')
    await run.until('waiting')
    const { lines } = runFrame(
      { view: await run.view(), requests: [], selected: 0, scroll: 0, hasList: false },
      { columns: 80, rows: 24, now: Date.now() },
      { message: 'said' },
    )
    expect(lines[0]!.text).toContain(run.id)
    expect(lines[1]!.text).toContain('asks')
    expect(lines.at(-2)!.text).toBe('said')
    expect(clip('一二三四五六七八九十'.repeat(3), 21)).toBe(`${'一二三四五六七八九十'}…`)
  })
})
