/** Property: of everything that may be tried with a capability only the one thing that was approved passes. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestJson, type Json, type JsonObject } from '@reeve/core'
import {
  CapabilityHolder,
  capabilityProblem,
  hmacSigner,
  signCapability,
  verifyCapability,
  type Capability,
  type CapabilityUse,
} from '@reeve/oversight'

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const input = fc.dictionary(word, fc.oneof(fc.integer(), word, fc.boolean(), fc.constant(null)), {
  minKeys: 1,
  maxKeys: 5,
})
const signer = hmacSigner('a secret of more than thirty-two bytes', 'the key')

interface Made {
  readonly capability: Capability
  readonly use: CapabilityUse
}

/** What was approved, and the use of it that is right. */
const made: fc.Arbitrary<Made> = fc
  .record({
    run: word,
    root: word,
    child: word,
    tool: word,
    version: word,
    input,
    ordinal: fc.nat(3),
    isWorker: fc.boolean(),
    late: fc.nat(999),
  })
  .map(({ run, root, child, tool, version, input: asked, ordinal, isWorker, late }) => {
    const activation = `act_${run}>turn/call/${child}`
    const scope = 'turn#2/call/'
    const path = [root, child]
    const capability = {
      id: 'cap_1',
      run,
      path,
      activation,
      scope,
      tool,
      toolVersion: version,
      inputHash: digestJson(asked),
      by: 'human',
      approvers: ['ann'],
      approvals: ['apr_1'],
      issuedAt: 1_000,
      expiresAt: 2_000,
    } as unknown as Capability
    const key = `${activation}${isWorker ? '>' : ':'}${scope}${tool}${ordinal === 0 ? '' : `#${ordinal}`}`
    return {
      capability,
      use: { run, path, activation, key, tool, toolVersion: version, input: asked, now: 1_000 + late },
    }
  })

/** Ways in which a use may be another one than what was approved. */
const tampering: readonly ((use: CapabilityUse, other: string) => CapabilityUse)[] = [
  (use, other) => ({ ...use, run: `${use.run}${other}` }),
  (use, other) => ({ ...use, activation: `${use.activation}>${other}` }),
  (use) => ({ ...use, activation: use.activation.slice(0, use.activation.indexOf('>')) }),
  (use, other) => ({ ...use, path: [...use.path, other] }),
  (use) => ({ ...use, path: [...use.path].slice(1) }),
  (use) => ({ ...use, path: [use.path.join('')] }),
  (use, other) => ({ ...use, key: `${use.activation}:turn#3/call/${other}` }),
  (use, other) => ({ ...use, key: `${use.key}/${other}` }),
  (use, other) => ({ ...use, key: `${use.key}>${other}` }),
  (use) => ({ ...use, key: `${use.activation}:turn#2/call/` }),
  (use, other) => ({ ...use, key: `${other}${use.key}` }),
  (use, other) => ({ ...use, tool: `${use.tool}${other}` }),
  (use, other) => ({ ...use, toolVersion: `${use.toolVersion}${other}` }),
  (use) => ({ ...use, now: 2_001 }),
  (use) => ({ ...use, now: Infinity }),
]

const edits: readonly ((asked: JsonObject, other: string) => Json)[] = [
  (asked, other) => ({ ...asked, [`${Object.keys(asked).join('')}${other}`]: null }),
  (asked) => Object.fromEntries(Object.entries(asked).slice(1)),
  (asked, other) => ({
    ...asked,
    [Object.keys(asked)[0]!]: `${JSON.stringify(asked[Object.keys(asked)[0]!])}${other}`,
  }),
  (asked) => [asked],
  () => null,
]

describe('capability', () => {
  test('the right use passes, in any argument order, up to its last moment', () => {
    fc.assert(
      fc.property(made, ({ capability, use }) => {
        const turned = Object.fromEntries(Object.entries(use.input as JsonObject).toReversed())
        for (const given of [use, { ...use, input: turned }, { ...use, now: capability.expiresAt }])
          expect(capabilityProblem(capability, given)).toBeUndefined()
      }),
      { seed: 7 },
    )
  })
  test('another run, path, agent, call, tool, version, time or argument: none passes', () => {
    fc.assert(
      fc.property(made, fc.nat(tampering.length + edits.length - 1), word, ({ capability, use }, how, other) => {
        const edit = edits[how - tampering.length]
        const tampered =
          edit === undefined ? tampering[how]!(use, other) : { ...use, input: edit(use.input as JsonObject, other) }
        expect(capabilityProblem(capability, tampered)).toBeTypeOf('string')
        expect(() => new CapabilityHolder(capability).use(tampered)).toThrow(/not done/)
      }),
      { seed: 7, numRuns: 1_000 },
    )
  })
  test('one use: its tries share it, and nothing else does', () => {
    fc.assert(
      fc.property(made, ({ capability, use }) => {
        const holder = new CapabilityHolder(capability)
        expect(holder.use(use)).toEqual({ ...capability, key: use.key })
        expect(holder.use({ ...use, now: use.now + 1 })).toEqual({ ...capability, key: use.key })
        expect(() => holder.use({ ...use, key: `${use.key}#9` })).toThrow(/used already/)
      }),
      { seed: 7 },
    )
  })
  test('signed: nothing that is changed, signed by another, for something else, late or used before passes', async () => {
    await fc.assert(
      fc.asyncProperty(made, word, fc.nat(), async ({ capability, use }, other, at) => {
        const held = new CapabilityHolder(capability).use(use)
        const token = await signCapability(signer, held)
        const uses = new Map<string, string>()
        const used = (id: string, key: string): string | undefined => {
          const before = uses.get(id)
          uses.set(id, before ?? key)
          return before
        }
        const expected = {
          tool: use.tool,
          toolVersion: use.toolVersion,
          input: use.input,
          run: use.run,
          path: use.path,
          approvers: 1,
        }
        const options = { keys: [signer], now: use.now, used }
        expect(await verifyCapability(token, expected, options)).toEqual({ ok: true, capability: held })
        expect(await verifyCapability(token, expected, options)).toMatchObject({ ok: true }) // the same effect, tried again
        const again = await signCapability(signer, { ...held, key: `${held.key}#9` })
        expect(await verifyCapability(again, expected, options)).toMatchObject({ ok: false, why: 'used' })

        const i = at % token.length
        const changed = `${token.slice(0, i)}${token[i] === 'A' ? 'B' : 'A'}${token.slice(i + 1)}`
        expect(await verifyCapability(changed, expected, options)).toMatchObject({ ok: false })
        const forger = hmacSigner('another secret of more than thirty-two bytes', 'the key')
        const forged = await signCapability(forger, held)
        expect(await verifyCapability(forged, expected, options)).toMatchObject({ ok: false, why: 'bad-signature' })
        expect(await verifyCapability(token, expected, { ...options, keys: [] })).toMatchObject({
          ok: false,
          why: 'unknown-key',
        })
        expect(await verifyCapability(token, expected, { ...options, now: capability.expiresAt + 1 })).toMatchObject({
          why: 'expired',
        })
        expect(await verifyCapability(token, expected, { ...options, now: Number.NaN })).toMatchObject({
          why: 'expired',
        })
        for (const member of ['tool', 'toolVersion', 'run', 'key'] as const) {
          const wanted = { ...expected, [member]: `${use.tool}${other}!` }
          expect(await verifyCapability(token, wanted, options)).toMatchObject({ ok: false, why: 'other-call' })
        }
        for (const wanted of [{ input: [use.input] }, { path: [other] }])
          expect(await verifyCapability(token, { ...expected, ...wanted }, options)).toMatchObject({
            ok: false,
            why: 'other-call',
          })
        expect(await verifyCapability(token, { ...expected, approvers: 2 }, options)).toMatchObject({
          why: 'too-few-approvers',
        })
      }),
      { seed: 7, numRuns: 60 },
    )
  })
})
