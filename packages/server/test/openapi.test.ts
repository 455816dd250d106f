/** The OpenAPI document: its structure, and that it says what the server does. */
import { expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '@reeve/core'
import { createServer } from '../src/index.ts'
import { createRuntime } from '@reeve/runtime'
import { documentOf, operationsOf } from './serving.ts'

async function document(): Promise<JsonObject> {
  await using runtime = await createRuntime({ drive: false })
  return await documentOf(createServer({ runtime }))
}

/** All objects in a value, with the path to each. */
function* objectsIn(value: Json, path = '#'): Generator<readonly [string, JsonObject]> {
  if (isObject(value)) yield [path, value]
  if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) yield* objectsIn(each, `${path}/${key}`)
}

test('the document is OpenAPI 3.1: every operation has what one must have', async () => {
  const given = await document()
  expect(given).toMatchObject({ openapi: '3.1.0', info: { title: 'Reeve', version: expect.stringMatching(/^\d+\./) } })
  const operations = operationsOf(given)
  expect(operations.length).toBeGreaterThan(40)
  for (const { path, method, operation } of operations) {
    const where = `${method} ${path}`
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const parameters = operation.parameters ?? []
    expect(
      parameters.filter((each) => each.in === 'path').map(({ name }) => name),
      where,
    ).toEqual(named)
    expect(new Set(parameters.map((each) => `${each.in} ${each.name}`)).size, where).toBe(parameters.length)
    expect(operation.requestBody === undefined || method === 'POST', where).toBe(true)
    expect(
      Object.keys(operation.responses).some((status) => status.startsWith('2')),
      where,
    ).toBe(true)
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(status, where).toMatch(/^[2-5]\d\d$/)
      expect(response, where).toMatchObject({ description: expect.any(String) })
    }
    expect(operation, where).toMatchObject({
      'x-role': expect.stringMatching(/^(open|viewer|operator|approver|admin)$/),
    })
  }
})

test('operation ids are stable and unique, and every reference leads somewhere', async () => {
  const given = await document()
  const ids = operationsOf(given).map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toContain('postRunsRunTakeOver')
  expect(ids).toContain('getRunsRunDiffOther')
  const schemas = (given['components'] as JsonObject)['schemas'] as JsonObject
  for (const [path, { $ref }] of objectsIn(given)) {
    if (typeof $ref !== 'string') continue
    expect($ref, path).toMatch(/^#\/components\/schemas\//)
    expect(Object.hasOwn(schemas, $ref.split('/').at(-1)!), path).toBe(true)
  }
  const types = ['string', 'integer', 'number', 'boolean', 'array', 'object']
  const named = [...objectsIn(schemas)].filter(
    ([path, { type }]) => typeof type === 'string' && !path.endsWith('/properties'),
  )
  for (const [path, { type }] of named) expect(types, path).toContain(type)
})
