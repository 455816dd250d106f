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

/** What the form comes to. `before`: the instructions that stood there; those say nothing that is different. */
export const changeOf = ({ version, model, instructions }: TrialDraft, before?: string): TrialChange => ({
  ...(version === '' ? {} : { version }),
  ...(model === '' ? {} : { model }),
  ...(instructions.trim() === '' || instructions === before ? {} : { instructions }),
})

/** The instructions that a version has: those of the code, where it says none. */
export const instructionsOf = (version: string, versions: readonly VersionOption[], own: string): string =>
  versions.find((each) => each.version === version)?.instructions ?? own

export interface VersionOption {
  readonly version: string
  readonly status: 'draft' | 'published'
  readonly instructions?: string
}

/** The versions of an agent that are kept, and the models that a trial may use; of a tenant's person neither. */
export function useTrialOptions(agent: string): {
  readonly versions: readonly VersionOption[]
  readonly models: readonly string[]
} {
  const isShared = useMe()?.tenant === undefined
  const kept = useQuery(isShared ? 'trial-versions' : '', ['versions'], (signal) => server.versions.all({ signal }))
  const models = useQuery(isShared ? 'trial-models' : '', ['versions'], (signal) => server.versions.models({ signal }))
  const versions = (kept.data ?? []).flatMap(({ agent: of, status, revision: { version, instructions } }) =>
    of === agent ? [{ version, status, ...(instructions === undefined ? {} : { instructions }) }] : [],
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

/** `own`: the instructions of the code, or those that were in use. */
export function TrialFields(props: ChoiceProps & { readonly own: string; readonly rows?: number }) {
  const { agent, draft, onChange, own, rows = 4 } = props
  const { versions } = useTrialOptions(agent)
  const choose = (next: TrialDraft): void => {
    const isSame = draft.instructions === instructionsOf(draft.version, versions, own)
    // what was not changed is that of the version that is chosen now
    onChange(isSame ? { ...next, instructions: instructionsOf(next.version, versions, own) } : next)
  }
  return (
    <div className="stack">
      <TrialChoices agent={agent} draft={draft} onChange={choose} />
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
