/** Verbs of agents: how much one is trusted, and which version of it is published. */
import { ReeveError } from '@reeve/core'
import type { Incident, TrustSetting, TrustView } from '@reeve/runtime'
import { admin } from '../access/door.ts'
import { choice, flag, jsonObject, name, nothing, object, optional, text, view, whole } from '../wire-schema.ts'
import type { VersionBody } from '../wire.ts'
import { verb } from './verb.ts'

export const trustView = view<TrustView>('TrustView', { name: name(), completed: whole(), succeeded: whole() })
const create = optional(flag({ description: 'Allows a name that no agent uses and that has no record.' }))
const id = optional(name({ description: 'Makes the call idempotent.' }))
const unchanged = 'Nothing was changed.'

export const trustVerbs = [
  verb('POST /trust/{name}/level', admin('installation'), {
    summary: 'Set a level, with a reason.',
    input: object<Omit<TrustSetting, 'trust' | 'by'>>('TrustLevelBody', {
      level: choice(['novice', 'proficient', 'expert']),
      reason: text({ maxLength: 10_000, minLength: 1 }),
      id,
      create,
    }),
    answer: trustView,
    run: (input, { runtime, path, by }) => runtime.trust.set({ ...input, trust: path.name, by }),
  }),
  verb('POST /trust/{name}/incidents', admin('installation'), {
    summary: 'Record an incident.',
    input: object<Omit<Incident, 'trust' | 'by'>>('IncidentBody', {
      severity: choice(['minor', 'serious']),
      note: optional(text({ maxLength: 10_000 })),
      run: optional(name()),
      id,
      create,
    }),
    answer: trustView,
    run: (input, { runtime, path, by }) => runtime.trust.incident({ ...input, trust: path.name, by }),
  }),
] as const

export const versionVerbs = [
  verb('POST /versions/{agent}', admin('installation'), {
    summary: 'Publish a version or keep a draft: as data, or by the name of one that is kept.',
    input: object<VersionBody>('VersionBody', {
      status: choice(['draft', 'published']),
      revision: optional(jsonObject<NonNullable<VersionBody['revision']>>()),
      version: optional(name()),
    }),
    answer: nothing,
    async run({ status, revision, version }, { runtime, path: { agent }, by }) {
      const given = revision ?? version
      if (given === undefined || (revision !== undefined && version !== undefined))
        throw new ReeveError('input.invalid', 'expected either a revision or the name of a version', {
          hint: unchanged,
        })
      if (status === 'published') await runtime.versions.publish(agent, given, { by })
      else if (revision === undefined)
        throw new ReeveError('input.invalid', 'a draft needs a revision', { hint: unchanged })
      else await runtime.versions.draft(agent, revision, { by })
    },
  }),
] as const
