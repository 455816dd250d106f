import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  comparableReport,
  recruitsFor,
  renderReport,
  surveyDependencies,
  surveyInventory,
  surveyMonorepo,
  surveyTodos,
  type AreaReport,
  type ReportInput,
  type SurveyFindings,
} from '../src/survey/index.ts'
import { code, grouped, sized, plainText } from '../src/survey/markup.ts'
import { knownFolder, raw, type KnownFolder } from './folder.ts'

let shop: KnownFolder
let input: ReportInput
beforeAll(async () => {
  shop = await knownFolder()
  const inventory = await surveyInventory(shop.path)
  const surveys = [surveyDependencies, surveyTodos, surveyMonorepo]
  const found: SurveyFindings[] = [inventory]
  for (const survey of surveys) found.push(await survey(shop.path, { now: shop.now }))
  input = {
    folder: 'shop',
    brain: { type: 'rules' },
    run: 'run_1',
    times: [
      { event: 'started', at: '2026-01-01T00:00:00.000Z' },
      { event: 'finished', at: '2026-01-01T00:00:09.000Z' },
    ],
    areas: [
      ...found.map((findings): AreaReport => ({ type: 'examined', worker: findings.area, findings })),
      { type: 'failed', worker: 'checks', area: 'checks', reason: 'the worker timed out after 30 s' },
    ],
    recruits: recruitsFor(inventory.signals).map(({ specialist, reason }) => ({ worker: specialist, reason })),
    notes: ['secrets to dependencies: look at `.npmrc` <b>first</b>'],
  }
})
afterAll(() => shop.remove())

describe('the report', () => {
  it('starts with the header, what needs attention and a table', () => {
    const lines = renderReport(input).split('\n')
    expect(lines.slice(0, 14)).toEqual([
      '# What we found in `shop`',
      '',
      '- leader: rules (no model)',
      '- run: `run_1`',
      '- started (recorded): 2026-01-01T00:00:00.000Z',
      '- finished (recorded): 2026-01-01T00:00:09.000Z',
      '',
      '> Needs attention: 3 soon and 4 minor. **1 area could not be examined.**',
      '',
      '## At a glance',
      '',
      '| area | attention | found | examined by |',
      '| --- | --- | --- | --- |',
      '| Tests and CI | ⚪ not examined | this area could not be examined: the worker timed out after 30 s | checks |',
    ])
    expect(lines[14]).toMatch(
      /^\| Dependencies and licences \| 🟠 soon \| 10 declared dependencies, 10 packages looked at for licences \|/,
    )
  })

  it('names failed areas, recruits with their reason, and every finding with its place', () => {
    const report = renderReport(input)
    expect(report).toContain('## Tests and CI\n\nThis area could not be examined: the worker timed out after 30 s\n')
    expect(report).toContain('- monorepo, because the folder is a workspace (npm) with 2 members\n')
    for (const at of ['config/live.ts:2', 'package.json:15', 'src/app.ts:5']) expect(report).toContain(`\`${at}\``)
  })

  it('shows no raw secret, and what others wrote cannot become markup', () => {
    const report = renderReport({ ...input, folder: 'a`b\n# c' })
    for (const value of Object.values(raw)) expect(report).not.toContain(value)
    expect(report).toContain('# What we found in ``a`b # c``\n')
    expect(report).toContain(String.raw`- secrets to dependencies: look at \`.npmrc\` \<b\>first\</b\>`)
  })

  it('is the same for the same input in any order, and comparable apart from run id and times', () => {
    const report = renderReport(input)
    expect(renderReport({ ...input, areas: input.areas.toReversed(), recruits: input.recruits.toReversed() })).toBe(
      report,
    )
    const other = renderReport({
      ...input,
      run: 'run_2',
      times: [
        { event: 'started', at: '2027-01-01T00:00:00.000Z' },
        { event: 'approved', at: 'x' },
      ],
    })
    expect(other).not.toBe(report)
    expect(comparableReport(other)).toBe(comparableReport(report))
    expect(comparableReport(report)).toContain('- leader: rules (no model)\n')
    expect(comparableReport(renderReport({ ...input, folder: 'other' }))).not.toBe(comparableReport(report))
  })

  it('names the model when there is one', () => {
    expect(renderReport({ ...input, brain: { type: 'model', model: 'ollama/qwen3' } })).toContain(
      '- leader: `ollama/qwen3`\n',
    )
  })

  it('holds well-formed tables and no link', () => {
    const report = renderReport(input)
    const cells = (line: string): number => line.replaceAll(String.raw`\|`, '').split('|').length
    const uneven = report.split('\n').filter((line, index, lines) => {
      const above = lines[index - 1] ?? ''
      return line.startsWith('|') && above.startsWith('|') && cells(line) !== cells(above)
    })
    expect(uneven).toEqual([])
    expect(report).not.toMatch(/(?<!\\)\]\(/)
  })

  it('of areas that are all clear or empty says so', async () => {
    const todos = await surveyTodos(shop.path, { limits: { maxFiles: 1 } })
    const clear: SurveyFindings = {
      ...todos,
      todos: { total: 0, items: [] },
      markers: { TODO: 0, FIXME: 0, HACK: 0, XXX: 0 },
      coverage: { ...todos.coverage, truncated: null },
    }
    const report = renderReport({
      ...input,
      areas: [{ type: 'examined', worker: 'todos', findings: clear }],
      recruits: [],
      notes: [],
    })
    expect(report).toContain('> Nothing that needs attention was found.\n')
    expect(report).toContain('No specialist was recruited')
    expect(renderReport({ ...input, areas: [] })).toContain('## At a glance')
  })

  it('says when a limit cut an area', async () => {
    const findings = await surveyTodos(shop.path, { limits: { maxFiles: 1 } })
    const report = renderReport({ ...input, areas: [{ type: 'examined', worker: 'todos', findings }] })
    expect(report).toContain(
      '- Not everything was examined: only the first file was examined; the rest of the folder was not\n',
    )
  })
})

describe('markup', () => {
  it('escapes all user text', () => {
    expect(code('a `b` ``c``')).toBe('``` a `b` ``c`` ```')
    expect(code('')).toBe('` `')
    expect(code('a\u202eb\nc')).toBe('`ab c`')
    expect(plainText('[x](y) | *z*')).toBe(String.raw`\[x\](y) \| \*z\*`)
  })
  it('writes numbers the same everywhere', () => {
    expect([grouped(999), grouped(1234567), sized(1), sized(1536), sized(52428800)]).toEqual([
      '999',
      '1,234,567',
      '1 byte',
      '1.5 KB',
      '50 MB',
    ])
  })
})
