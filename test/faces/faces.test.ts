/**
 * The faces: what users and other programs see, each kept as one file. A change of a file is a change that somebody
 * sees: it is wanted, or it is a defect. `npx vitest run test/faces -u` writes them anew.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { redactedMark, redactor, type Json, type JsonObject } from '@reeve/core'
import { eventShape, resultShape, type JournalEvent } from '@reeve/journal'
import { mcpServer } from '@reeve/mcp'
import { createRuntime } from '@reeve/runtime'
import { createServer, type ReeveServer } from '@reeve/server'
import { eventLines } from '../../packages/cli/src/event-lines.ts'
import { commandGroups } from '../../packages/cli/src/command-groups.ts'
import { main } from '../../packages/cli/src/program.ts'
import { fakeTerminal } from '../../packages/cli/test/fake-terminal.ts'
import { RunTrace } from '../../packages/otel/src/run-trace.ts'
import { echo } from '../../packages/runtime/test/hand.ts'
import { agentsOfEveryKind } from './agents.ts'
import { goldenJournals, numberedIds } from './journals.ts'

/** The text of a file. */
const face = (text: string): string => `${text.trimEnd()}\n`
const pretty = (value: unknown): string => JSON.stringify(value, null, 1)
/** Sections under headings. */
const sections = (parts: readonly (readonly [title: string, lines: readonly string[]])[]): string =>
  parts.map(([title, lines]) => [`== ${title}`, ...lines, ''].join('\n')).join('\n')

const asked = (
  server: ReeveServer,
  path: string,
  init: { readonly method?: string; readonly body?: string; readonly headers?: Record<string, string> } = {},
): Promise<Response> =>
  server.fetch(
    new Request(`http://127.0.0.1${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${server.token}`, ...init.headers },
    }),
  )

test('the OpenAPI document', async () => {
  await using runtime = await createRuntime({ drive: false })
  const document = (await (await asked(createServer({ runtime }), '/api/openapi.json')).json()) as { info: JsonObject }
  await expect(face(pretty({ ...document, info: { ...document.info, version: '-' } }))).toMatchFileSnapshot(
    './openapi.json',
  )
})

test('the tools that are offered over MCP', async () => {
  await using runtime = await createRuntime({ agents: [echo], drive: false })
  const server = createServer({ runtime, protocols: [mcpServer()] })
  const response = await asked(server, '/mcp', {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
  })
  const said = await response.text()
  const { result } = JSON.parse(/^(?:data: )?(\{.*\})$/m.exec(said)?.[1] ?? said) as {
    result: { tools: readonly { readonly name: string }[] }
  }
  expect(result.tools.length).toBeGreaterThan(5)
  await expect(face(pretty(result.tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))))).toMatchFileSnapshot(
    './mcp-tools.json',
  )
})

test('the help of every command', async () => {
  const helpOf = async (...command: readonly string[]): Promise<string> => {
    const terminal = fakeTerminal()
    const world = { terminal, cwd: '/', interrupted: new AbortController().signal, version: '-' }
    expect(await main([...command, '--help'], world)).toBe(0)
    return terminal.written
  }
  const headings = ['Commands', ...commandGroups.map(({ heading }) => heading)]
  const namesIn = (help: string): readonly string[] =>
    headings
      .flatMap((heading) => [
        ...(help.split(`\n${heading}:\n`)[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}([a-z][\w-]*)/gm),
      ])
      .flatMap(([, name]) => (name === 'help' ? [] : [name!]))
  const parts: [string, string[]][] = []
  const open: (readonly string[])[] = [[]]
  for (const command of open) {
    const help = await helpOf(...command)
    parts.push([['reeve', ...command].join(' '), help.trimEnd().split('\n')])
    open.push(...namesIn(help).map((name) => [...command, name]))
  }
  expect(parts.length).toBeGreaterThan(40)
  await expect(face(sections(parts.toSorted(([a], [b]) => (a < b ? -1 : 1))))).toMatchFileSnapshot('./help.txt')
})

test('the line of every event of the golden journals', async () => {
  const parts = goldenJournals().map(({ name, events }) => {
    const [lineOf, numbered] = [eventLines(), numberedIds()]
    return [name, events.map((recorded) => numbered(`${recorded.event.type}  ${lineOf(recorded) ?? '-'}`))] as const
  })
  await expect(face(sections(parts))).toMatchFileSnapshot('./lines.txt')
})

test('the spans of the golden journals', async () => {
  const parts = goldenJournals().map(({ name, events }) => {
    const [trace, numbered] = [new RunTrace({ content: true }), numberedIds()]
    for (const recorded of events) trace.take(recorded)
    const sorted = (given: object): string =>
      Object.entries(given)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(' ')
    const spans = [...trace.drain().spans, ...trace.open()]
    const lines = spans.flatMap(({ name: span, kind, from, to, attributes, events: own, links, error }) => [
      `${span} [${kind}, ${to - from} ms] ${sorted(attributes)}${error === undefined ? '' : ` error=${JSON.stringify(error)}`}`,
      ...own.map((event) => `  ${event.name} ${sorted(event.attributes)}`.trimEnd()),
      ...links.map((link) => `  -> ${sorted(link.attributes)}`),
    ])
    return [name, lines.map(numbered)] as const
  })
  await expect(face(sections(parts))).toMatchFileSnapshot('./spans.txt')
})

/** Every text of a value, and every name of a member. */
const textsIn = (value: Json, texts = new Set<string>(), names = new Set<string>()) => {
  if (typeof value === 'string') texts.add(value)
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) {
      if (!Array.isArray(value)) names.add(name)
      textsIn(each, texts, names)
    }
  return { texts, names }
}

/** The places of a value and what stands there: `outcome.output: text`. Items of a list are one place. */
function placesIn(value: Json, place = ''): readonly string[] {
  if (value === redactedMark) return [`${place}: taken out`]
  if (typeof value !== 'object' || value === null) return [`${place}: ${typeof value}`]
  if (Array.isArray(value)) return value.flatMap((each: Json) => placesIn(each, `${place}[]`))
  return Object.entries(value).flatMap(([name, each]) => placesIn(each, place === '' ? name : `${place}.${name}`))
}

test('what redaction leaves of the events of the golden journals, if every text and every name is to be taken out', async () => {
  const places = new Map<string, Set<string>>()
  for (const { events } of goldenJournals()) {
    const opened = new Map<string, JournalEvent['type']>()
    for (const { activation, event } of events) {
      const place = `${activation} ${'address' in event ? event.address : ''}`
      if ('op' in event) opened.set(place, event.type)
      // what is shorter than four characters is not looked for
      const long = JSON.parse(
        JSON.stringify(event, (_, value: unknown) => (typeof value === 'string' ? value.padEnd(4, '~') : value)),
      ) as JsonObject
      const { texts, names } = textsIn(long)
      const redact = redactor({ keys: [...names], values: [...texts] })!
      const shape = eventShape({ type: event.type }, resultShape(opened.get(place), undefined))
      const left = places.get(event.type) ?? new Set()
      for (const each of placesIn(redact(long, shape))) left.add(each)
      places.set(event.type, left)
    }
  }
  await expect(
    face(
      sections(
        [...places].map(([type, left]) => [type, [...left].sort()] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ),
    ),
  ).toMatchFileSnapshot('./redaction.txt')
})

test('the prompts', async () => {
  const page = readFileSync(new URL('../../docs/reference/prompts.md', import.meta.url), 'utf8')
  const parts = [...page.matchAll(/^## (.*)\n\n[^`]*(?:`[^`]+`[^`]*)*````text\n([^]*?)\n````$/gm)]
  expect(parts.length).toBeGreaterThan(5)
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
  const lines = parts.map(([, title, text]) => `${digest(text!)} ${title}`)
  await expect(face(lines.join('\n'))).toMatchFileSnapshot('./prompts.txt')
})

test('the versions of agents of every kind', async () => {
  const lines = Object.entries(agentsOfEveryKind).map(
    ([kind, { version, ownVersion = '-' }]) => `${version} ${ownVersion} ${kind}`,
  )
  await expect(face(lines.join('\n'))).toMatchFileSnapshot('./versions.txt')
})
