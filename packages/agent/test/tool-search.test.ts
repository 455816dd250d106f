/** The ranking of tools by the words of a query, and what `searchable` takes. */
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@reeve/core'
import type { ToolSpec } from '@reeve/model'
import { agent, agentProblems, problemText, searchable, tool, toolsOf, webSearch } from '../src/index.ts'
import { groupsOf, searchTools } from '../src/tool/tool-search.ts'

const spec = (name: string, description = '', properties: JsonObject = {}): ToolSpec => ({
  name,
  description,
  parameters: { type: 'object', properties },
})
const specs = [
  spec('github_create_issue', 'Opens a new issue in a repository.', { title: { type: 'string' } }),
  spec('github_list_issues', 'Lists issues of a repository.'),
  spec('slackPostMessage', 'Writes to a channel.', { channel: { type: 'string', description: 'Where to write' } }),
  spec('HTTPFetch', 'Reads a page.', { url: { type: 'string' } }),
  spec('billing_refund', 'Gives money back for an order.', {
    order: { type: 'object', properties: { invoiceNumber: { type: 'string' } } },
  }),
  spec('rechnung', 'Erstellt eine Rechnung für Müller.'),
  spec('fapiao', '为客户开发票。'),
]
const found = (query: string, most = 3): readonly string[] => searchTools(specs, query, most).map(({ name }) => name)

describe('a search', () => {
  test.each([
    ['create issue', 'github_create_issue'],
    ['createIssue', 'github_create_issue'],
    ['post a message to slack', 'slackPostMessage'],
    ['http', 'HTTPFetch'],
    ['fetch url', 'HTTPFetch'],
    ['refunds', 'billing_refund'],
    ['invoice number', 'billing_refund'],
    ['repo', 'github_list_issues'],
    ['muller', 'rechnung'],
    ['发票', 'fapiao'],
  ])('%j finds %s first', (query, name) => {
    expect(found(query)[0]).toBe(name)
  })

  test('what is named exactly comes first, each of several', () => {
    expect(found('github_list_issues')[0]).toBe('github_list_issues')
    expect(found('HTTPFetch, rechnung issue', 2)).toEqual(['HTTPFetch', 'rechnung'])
  })

  test('finds nothing without a word that fits, and no more than it may', () => {
    expect([found(''), found('   '), found('zzz'), found('(.*)')]).toEqual([[], [], [], []])
    expect(found('issue repository', 1)).toHaveLength(1)
  })

  test('equal ones stand in their given order, always alike', () => {
    const many = Array.from({ length: 50 }, (_, i) => spec(`copy_${String(i)}`, 'Copies a file.'))
    expect(searchTools(many, 'copy file', 3).map(({ name }) => name)).toEqual(['copy_0', 'copy_1', 'copy_2'])
  })

  test('is bounded for a huge query, a huge description and deep parameters', () => {
    let deep: JsonObject = { type: 'string', description: 'bottom' }
    for (let i = 0; i < 500; i++) deep = { type: 'object', properties: { [`level${String(i)}`]: deep } }
    const heavy = [spec('heavy', 'word '.repeat(1_000_000), { deep }), ...specs]
    const began = performance.now()
    expect(searchTools(heavy, 'refund '.repeat(1_000_000), 3)[0]?.name).toBe('billing_refund')
    expect(searchTools(heavy, 'bottom', 3)).toEqual([])
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  test('of thousands of tools with long descriptions takes little, once their words are known', () => {
    const word = (i: number): string => `word${String(i % 5_000)}`
    const many = Array.from({ length: 2_000 }, (_, i) =>
      spec(`tool_${String(i)}`, Array.from({ length: 100 }, (_, at) => word(i * 7 + at * 13)).join(' ')),
    )
    searchTools(many, 'first', 1)
    const began = performance.now()
    expect(searchTools(many, 'tool_1999', 1)[0]?.name).toBe('tool_1999')
    expect(searchTools(many, Array.from({ length: 32 }, (_, i) => word(i)).join(' '), 5)).toHaveLength(5)
    expect(performance.now() - began).toBeLessThan(3_000)
  })

  test('groups are beginnings that several names have', () => {
    expect(groupsOf(specs, 5)).toEqual([{ name: 'github', count: 2 }])
  })
})

const named = (name: string) => tool({ name, execute: () => name })

describe('searchable', () => {
  test('stands in a list, alone and around a record of other tools; those of `always` are as any other', () => {
    const set = searchable([named('b'), named('c')], { always: ['c'], limit: 7 })
    const marks = (all: ReturnType<typeof toolsOf>) => all.map(({ name, searchable: mark }) => [name, mark?.limit])
    expect(marks(toolsOf([named('a'), set]))).toEqual([
      ['a', undefined],
      ['b', 7],
      ['c', undefined],
    ])
    expect(marks(toolsOf(set))).toEqual([
      ['b', 7],
      ['c', undefined],
    ])
    const foreign = { look: { description: 'Looks.', inputSchema: { type: 'object' }, execute: () => 'seen' } }
    expect(marks(toolsOf([searchable(foreign)]))).toEqual([['look', 5]])
  })

  test('a tool that a provider runs is always sent: nobody here could run it by its name', () => {
    const all = toolsOf(searchable([webSearch(), named('a')]))
    expect(all.map(({ name, searchable: mark }) => [name, mark])).toEqual([
      ['web_search', undefined],
      ['a', { limit: 5 }],
    ])
  })

  test.each([
    ['limit 0', () => searchable([named('a')], { limit: 0 }), 'limit'],
    ['limit 21', () => searchable([named('a')], { limit: 21 }), 'limit'],
    ['an unknown option', () => searchable([named('a')], { most: 3 } as object), 'most'],
    ['an unknown name', () => searchable([named('a')], { always: ['b'] }), 'always names b'],
    ['a set in a record', () => toolsOf({ more: searchable([named('a')]) } as never), 'a set of searchable tools'],
    ['an agent', () => searchable([agent({ name: 'w', run: () => 1 })] as never), 'an agent'],
  ])('refuses %s', (_what, make, says) => {
    expect(make).toThrow(expect.objectContaining({ code: 'tool.invalid', message: expect.stringContaining(says) }))
  })

  test('the name of the search is taken, and names are unique over everything', () => {
    const problems = (tools: Parameters<typeof toolsOf>[0]) =>
      agentProblems([agent({ name: 'A', model: () => '', ...(tools && { tools }) })]).map(problemText)
    expect(problems([named('find_tools')])).toEqual([])
    expect(problems([named('find_tools'), searchable([named('b')])])).toEqual([
      expect.stringContaining('the tool name "find_tools" is taken'),
    ])
    expect(problems([named('b'), searchable([named('b')])])).toEqual([expect.stringContaining('"b"')])
  })

  test('changes the version of an agent that has it, and no other', () => {
    const version = (tools: Parameters<typeof toolsOf>[0]) =>
      agent({ name: 'A', model: 'openai/gpt-5', ...(tools && { tools }) }).version
    const plain = version([named('a')])
    expect(version([searchable([named('a')], { always: ['a'] })])).toBe(plain)
    expect(version([searchable([named('a')])])).not.toBe(plain)
    expect(version([searchable([named('a')], { limit: 6 })])).not.toBe(version([searchable([named('a')])]))
  })

  test('600 fit a provider that takes 128; too many that are always sent do not', () => {
    const many = Array.from({ length: 600 }, (_, i) => named(`t${String(i)}`))
    const problems = (tools: Parameters<typeof toolsOf>[0]) =>
      agentProblems([agent({ name: 'A', model: 'openai/gpt-5', ...(tools && { tools }) })]).map(problemText)
    expect(problems(many)).toEqual([expect.stringContaining('600 tools are offered')])
    expect(problems([searchable(many)])).toEqual([])
    // the search and room for 16
    expect(problems([...many.slice(0, 111), searchable(many.slice(111))])).toEqual([])
    expect(problems([...many.slice(0, 112), searchable(many.slice(112))])).toEqual([
      expect.stringContaining('129 tools are offered'),
    ])
  })
})
