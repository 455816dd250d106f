/** The live state of a run: what a patch says, what it leaves alone, and hostile keys. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyMessage, applyPatch } from 'reeve/client'
import type { LivePatch, LiveRun } from '@reeve/server/wire'

const parts = ['activations', 'approvals', 'interrupts', 'doubts', 'teams'] as const

const empty = {
  head: { run: 'r', position: 0 },
  activations: {},
  approvals: {},
  interrupts: {},
  doubts: {},
  teams: {},
} as unknown as LiveRun

const patch = (value: unknown): LivePatch => value as LivePatch
const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString')
const change = fc.oneof(fc.constant(null), fc.record({ n: fc.integer() }))
const patches = fc.array(
  fc.record(
    {
      head: fc.record({ run: fc.constant('r'), position: fc.nat() }),
      ...Object.fromEntries(parts.map((part) => [part, fc.dictionary(key, change)])),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 12 },
)

test('patches give what a plain map gives, and share every part and value that they do not name', () => {
  fc.assert(
    fc.property(patches, (all) => {
      let run = empty
      const model = new Map(parts.map((part) => [part, new Map<string, unknown>()]))
      for (const wanted of all) {
        // as it comes from the wire: `__proto__` is a member there
        const each = JSON.parse(JSON.stringify(wanted)) as Record<string, Record<string, unknown>>
        const before = run
        run = applyPatch(before, patch(each))
        const untouched = parts.filter((part) => !Object.hasOwn(each, part))
        expect(untouched.map((part) => run[part])).toEqual(untouched.map((part) => before[part]))
        expect(untouched.every((part) => run[part] === before[part])).toBe(true)
        for (const part of parts) {
          for (const [name, value] of Object.entries(each[part] ?? {}))
            if (value === null) model.get(part)!.delete(name)
            else model.get(part)!.set(name, value)
          const kept = Object.keys(before[part]).filter((name) => !Object.hasOwn(each[part] ?? {}, name))
          expect(kept.every((name) => own(run[part], name) === own(before[part], name))).toBe(true)
        }
        expect(run.head === before.head).toBe(!Object.hasOwn(each, 'head'))
        for (const part of parts) expect(new Map(Object.entries(run[part]))).toEqual(model.get(part))
      }
      expect(Object.getPrototypeOf(run.activations)).toBe(Object.prototype)
    }),
  )
})

const own = (object: object, name: string): unknown => Object.getOwnPropertyDescriptor(object, name)?.value

test('a part that a run does not have is not made', () => {
  const hostile = JSON.parse('{"__proto__":{"x":{}},"constructor":{"y":{}},"other":{"z":{}}}') as unknown
  expect(applyPatch(empty, patch(hostile))).toEqual(empty)
  expect(({} as { readonly x?: unknown }).x).toBeUndefined()
})

test('nothing is shown before the first snapshot; text leaves the state as it is', () => {
  expect(applyMessage(undefined, { type: 'patch', patch: {} })).toBeUndefined()
  expect(applyMessage(undefined, { type: 'snapshot', run: empty })?.run).toBe(empty)
  const said = applyMessage(empty, { type: 'parts', parts: [] })
  expect(said?.run).toBe(empty)
})
