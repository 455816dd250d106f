/** How two versions of an agent differ: the instructions as text, the rest as values. */
import { useState } from 'react'
import type { KeptRevision } from '@reeve/server/wire'
import type { JsonObject } from '../../data/json.ts'
import { TextDiff, ValueDiff } from '../../ui/diff.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

type Revision = KeptRevision['revision']

/** What a version says besides its name and instructions. */
const rest = ({ version: _version, instructions: _instructions, ...others }: Revision): JsonObject =>
  others as unknown as JsonObject

export function VersionDiff({ kept }: { readonly kept: readonly KeptRevision[] }) {
  const versions = kept.map(({ revision }) => revision)
  const [names, setNames] = useState({
    before: versions.at(-2)?.version ?? versions[0]!.version,
    after: versions.at(-1)!.version,
  })
  const of = (name: string): Revision => versions.find(({ version }) => version === name) ?? versions[0]!
  const [before, after] = [of(names.before), of(names.after)]
  if (versions.length === 1) return <One revision={after} />
  return (
    <div className="stack">
      <div className="version-choices">
        {(['before', 'after'] as const).map((side) => (
          <Field key={side} label={side === 'before' ? 'From' : 'To'}>
            {(field) => (
              <Select
                {...field}
                value={names[side]}
                onChange={({ target }) => setNames({ ...names, [side]: target.value })}
              >
                {versions.map(({ version }) => (
                  <option key={version} value={version}>
                    {version}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        ))}
      </div>
      <h3>Instructions</h3>
      {before.instructions === undefined && after.instructions === undefined ? (
        <p className="muted">Both leave those of the code.</p>
      ) : (
        <TextDiff
          key={`i ${before.version} ${after.version}`}
          before={before.instructions ?? ''}
          after={after.instructions ?? ''}
          label="Instructions of both versions"
        />
      )}
      {(before.instructions === undefined) !== (after.instructions === undefined) && (
        <p className="muted">
          {(before.instructions === undefined ? before : after).version} leaves the instructions of the code.
        </p>
      )}
      <h3>Everything else</h3>
      <ValueDiff
        key={`v ${before.version} ${after.version}`}
        before={rest(before)}
        after={rest(after)}
        label="What both versions say besides"
      />
    </div>
  )
}

function One({ revision }: { readonly revision: Revision }) {
  return (
    <div className="stack">
      <p className="muted">
        There is one version to look at. What the code says is not kept as a version, so it cannot be compared here.
      </p>
      <h3>Instructions</h3>
      {revision.instructions === undefined ? (
        <p className="muted">Those of the code.</p>
      ) : (
        <div className="bytes">
          <VisibleText lines>{revision.instructions}</VisibleText>
        </div>
      )}
      <h3>Everything else</h3>
      <JsonView value={rest(revision)} />
    </div>
  )
}
