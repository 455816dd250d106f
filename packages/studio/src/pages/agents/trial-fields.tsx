/**
 * What a trial changes of one agent, as a form: a version, a model, instructions.
 *
 * Owns: the form and what it comes to. What may be chosen is what the installation has: the versions that are kept, and
 * the models that it allows. Does not own: starting a trial.
 */
import type { TrialChange } from '@reeve/server/wire'
import { useMe } from '../../data/me.ts'
import { useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { Field, Select, TextArea } from '../../ui/field.tsx'

/** The form as it is filled in; an empty text changes nothing. */
export interface TrialDraft {
  readonly version: string
  readonly model: string
  readonly instructions: string
}

export const noChange: TrialDraft = { version: '', model: '', instructions: '' }

/** What the form comes to. */
export const changeOf = ({ version, model, instructions }: TrialDraft): TrialChange => ({
  ...(version === '' ? {} : { version }),
  ...(model === '' ? {} : { model }),
  ...(instructions.trim() === '' ? {} : { instructions }),
})

export interface VersionOption {
  readonly version: string
  readonly status: 'draft' | 'published'
}

/** The versions of an agent that are kept, and the models that a trial may use; of a tenant's person neither. */
export function useTrialOptions(agent: string): {
  readonly versions: readonly VersionOption[]
  readonly models: readonly string[]
} {
  const isShared = useMe()?.tenant === undefined
  const kept = useQuery(isShared ? 'trial-versions' : '', ['versions'], (signal) => server.versions.all({ signal }))
  const models = useQuery(isShared ? 'trial-models' : '', ['versions'], (signal) => server.versions.models({ signal }))
  const versions = (kept.data ?? []).flatMap(({ agent: of, status, revision: { version } }) =>
    of === agent ? [{ version, status }] : [],
  )
  return { versions, models: models.data ?? [] }
}

interface ChoiceProps {
  readonly agent: string
  readonly draft: TrialDraft
  readonly onChange: (draft: TrialDraft) => void
}

/** The version and the model, side by side. */
export function TrialChoices({ agent, draft, onChange }: ChoiceProps) {
  const { versions, models } = useTrialOptions(agent)
  return (
    <div className="trial-choices">
      <Field label="Version">
        {(field) => (
          <Select
            {...field}
            value={draft.version}
            onChange={({ target }) => onChange({ ...draft, version: target.value })}
          >
            <option value="">As every run begins</option>
            {versions.map(({ version, status }) => (
              <option key={version} value={version}>
                {status === 'draft' ? `${version} (draft)` : version}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Model">
        {(field) => (
          <Select {...field} value={draft.model} onChange={({ target }) => onChange({ ...draft, model: target.value })}>
            <option value="">Its own</option>
            {models.map((model) => (
              <option key={model} value={model}>
                {model}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </div>
  )
}

export function TrialFields({ agent, draft, onChange, rows = 4 }: ChoiceProps & { readonly rows?: number }) {
  return (
    <div className="stack">
      <TrialChoices agent={agent} draft={draft} onChange={onChange} />
      <Field label="Instructions" hint="In place of the agent’s own. Empty: as they are.">
        {(field) => (
          <TextArea
            {...field}
            rows={rows}
            value={draft.instructions}
            onChange={({ target }) => onChange({ ...draft, instructions: target.value })}
          />
        )}
      </Field>
    </div>
  )
}
