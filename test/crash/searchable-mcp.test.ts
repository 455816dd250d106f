/**
 * 600 tools of an MCP server on providers that take 128: a model searches, calls what it found and gets the result, with
 * `kill -9` after the search and in the middle of the call. What is sent grows at its end alone.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { createRuntime, registerAgents } from '@reeve/runtime'
import {
  strictProvider,
  strictProviderNames,
  verifyJournal,
  type ProviderReply,
  type ProviderRequest,
} from '@reeve/testing'
import { mcpFixture, text, type Fixture, type FixtureTool } from '../../packages/mcp/test/mcp-fixture.ts'
import { inFolder } from './hand.ts'
import { clerkOn, objects, services, verbs } from './searchable-mcp.ts'

const wanted = 'billing_create_itemc'
const receipt = 'receipt 77'

/** A server with 600 tools. `call`: what the wanted one does. */
function office(call: FixtureTool['call']): Promise<Fixture> {
  const tools: Record<string, FixtureTool> = {}
  for (const service of services)
    for (const verb of verbs)
      for (const object of objects) {
        const name = `${service}_${verb}_${object}`
        tools[name] = {
          description: `Can ${verb} ${object} in ${service}. It needs the id of the project.`,
          input: { type: 'object', properties: { project: { type: 'string' } }, required: ['project'] },
          annotations: { readOnlyHint: true },
          call: name === wanted ? call : () => text('another'),
        }
      }
  return mcpFixture(tools)
}

/** The place of a model: it searches, calls what it wants, and says what came of it. */
function rule({ text: sent }: ProviderRequest): ProviderReply {
  if (sent.includes(receipt)) return 'It is done.'
  if (sent.includes('You can call them now')) return { calls: [{ name: wanted, input: { project: 'p' } }] }
  return { calls: [{ name: 'find_tools', input: { query: 'create itemc billing' } }] }
}

/** The tools of a request, as they were sent. */
function toolsIn({ body }: ProviderRequest): readonly Json[] {
  const list = (Array.isArray(body['tools']) ? body['tools'] : []) as readonly JsonObject[]
  return list.flatMap((each): readonly Json[] =>
    Array.isArray(each['functionDeclarations']) ? (each['functionDeclarations'] as Json[]) : [each],
  )
}
const nameOf = (sent: Json): unknown =>
  isObject(sent) ? (sent['name'] ?? (isObject(sent['function']) ? sent['function']['name'] : undefined)) : undefined

function growAtTheirEnd(requests: readonly ProviderRequest[]): void {
  for (const [i, request] of requests.entries()) {
    const before = i === 0 ? [] : toolsIn(requests[i - 1]!)
    expect(JSON.stringify(toolsIn(request).slice(0, before.length))).toBe(JSON.stringify(before))
  }
}

test.each(strictProviderNames)('%s takes them', { timeout: 60_000 }, async (preset) => {
  const server = await office(() => text(receipt))
  await using provider = await strictProvider({ preset, answer: rule })
  const { clerk, tools } = await clerkOn(provider.resolve(), server.url)
  await using _tools = tools
  expect(tools).toHaveLength(600)
  await using runtime = await createRuntime({ agents: [clerk] })
  expect(await runtime.run('clerk', 'Create item c in billing.')).toMatchObject({ output: 'It is done.' })
  expect(provider.refused).toEqual([])
  const sent = provider.requests.map((request) => toolsIn(request).map(nameOf))
  expect(sent[0]).toEqual(['find_tools'])
  expect(sent).toHaveLength(3)
  expect(sent[1]).toHaveLength(6)
  expect(sent[1]!.slice(0, 2)).toEqual(['find_tools', wanted])
  growAtTheirEnd(provider.requests)
  // all of them would be 200 kB and more
  expect(JSON.stringify(tools.map(({ spec }) => spec)).length).toBeGreaterThan(100_000)
  expect(JSON.stringify(toolsIn(provider.requests.at(-1)!)).length).toBeLessThan(4_000)
})

test(
  'killed after the search and in the middle of the call, it goes on with what it had',
  { timeout: 60_000 },
  async () => {
    const store = inFolder()
    let life = 1
    const called = Promise.withResolvers<void>()
    let calls = 0
    const server = await office(() => {
      calls++
      if (life === 3) return text(receipt)
      called.resolve()
      return new Promise<never>(() => undefined)
    })
    await using provider = await strictProvider({
      preset: 'openai',
      answer: (request) => {
        const reply = rule(request)
        const found = request.text.includes('You can call them now')
        return life === 1 && found && typeof reply === 'object'
          ? { ...reply, breaks: { with: 'stall', after: 0 } }
          : reply
      },
    })
    const killedAt = async (reached: Promise<unknown>): Promise<void> => {
      const script = join(import.meta.dirname, 'searchable-mcp.ts')
      const child = spawn(
        process.execPath,
        ['--no-warnings', script, store, server.url, provider.model, JSON.stringify(provider.options)],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      )
      const gone = once(child, 'exit')
      await Promise.race([reached, gone.then(() => Promise.reject(new Error('the process ended by itself')))])
      child.kill('SIGKILL')
      await gone
      life++
    }
    await killedAt(provider.stalled(1))
    await killedAt(called.promise)
    const { clerk, tools } = await clerkOn(provider.resolve(), server.url)
    await using _tools = tools
    await using runtime = await createRuntime({ store, agents: [clerk] })
    const run = runtime.handle('r')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'It is done.' })
    expect(calls).toBe(2)
    expect(provider.refused).toEqual([])
    // searched once; asked again after the first death; asked with the result
    expect(provider.requests.map((request) => toolsIn(request).length)).toEqual([1, 6, 6, 6])
    growAtTheirEnd(provider.requests)
    const recorded: Recorded[] = []
    for await (const event of run.events()) recorded.push(event)
    expect(recorded.filter(({ event }) => event.type === 'tool.called' && event.tool === 'find_tools')).toHaveLength(1)
    expect((await verifyJournal(recorded, registerAgents([clerk], [], 'move'))).problems).toEqual([])
  },
)
