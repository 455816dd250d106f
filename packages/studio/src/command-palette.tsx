/**
 * The command palette: go to a page, a run or a question by typing a part of its name, the beginning of the id of a run,
 * or words of what it was asked or answered.
 */
import { useEffect, useId, useState, type KeyboardEvent } from 'react'
import type { RunRow } from '@reeve/server/wire'
import { useQuery } from './data/queries.ts'
import { server } from './data/server.ts'
import { useMe } from './data/me.ts'
import { pagesFor } from './pages/pages.ts'
import { runsPath } from './pages/runs/run-filter.ts'
import { navigate, runPath } from './router.tsx'
import { Dialog } from './ui/dialog.tsx'
import { TextInput } from './ui/field.tsx'
import { Icon, type IconName } from './ui/icon.tsx'
import { VisibleText } from './ui/visible-text.tsx'

interface Target {
  readonly id: string
  readonly icon: IconName
  readonly text: string
  readonly detail: string
  readonly to: string
}

/** Typing is looked for when it has paused for so long. Milliseconds. */
const lookAfterMs = 200
const mostFound = 20
/** Shorter texts are in too many runs. */
const shortestText = 3

interface FoundRuns {
  /** For what. */
  readonly typed: string
  readonly runs: readonly RunRow[]
}

/** Runs whose id begins so, then those with these words. */
function useFoundRuns(typed: string): { readonly runs: readonly RunRow[]; readonly loading: boolean } {
  const [waited, setWaited] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setWaited(typed), lookAfterMs)
    return () => clearTimeout(timer)
  }, [typed])
  const { data, loading, error } = useQuery(
    waited === '' ? '' : `palette ${waited}`,
    [],
    async (signal): Promise<FoundRuns> => {
      const [byId, byText] = await Promise.all([
        /^[\w.:-]+$/.test(waited) ? server.runs.list({ idPrefix: waited, limit: mostFound, signal }) : undefined,
        waited.length >= shortestText
          ? server.runs.list({ text: textQuery(waited), limit: mostFound, signal })
          : undefined,
      ])
      const runs = [...(byId?.items ?? []), ...(byText?.items ?? [])]
      return { typed: waited, runs: [...new Map(runs.map((each) => [each.run, each])).values()] }
    },
  )
  if (typed === '') return { runs: [], loading: false }
  return { runs: data?.runs ?? [], loading: error === undefined && (waited !== typed || loading) }
}

/** The last word may go on. */
const textQuery = (typed: string): string => (/[\p{L}\p{N}]$/u.test(typed) ? `${typed}*` : typed).slice(0, 1_000)

const targetOf = ({ run, agent, status, input }: RunRow): Target => ({
  id: `run-${run}`,
  icon: 'runs',
  text: input === undefined || input.text === '' ? run : input.text.replaceAll(/\s+/g, ' '),
  detail: `${run} · ${agent}, ${status}`,
  to: runPath(run),
})

export function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const tenant = useMe()?.tenant
  const { data: runs } = useQuery('palette-runs', ['runs'], (signal) => server.runs.list({ limit: 50, signal }))
  const { data: questions } = useQuery('palette-questions', ['questions'], (signal) =>
    server.questions.list({ limit: 50, signal }),
  )
  const targets: readonly Target[] = [
    ...pagesFor(tenant).map(({ path, title, icon }) => ({ id: path, icon, text: title, detail: 'page', to: path })),
    ...(questions?.items ?? []).map(({ id, kind, path, approval }) => ({
      id: `question-${id}`,
      icon: 'inbox' as const,
      text: approval?.tool ?? kind,
      detail: `asked by ${path.join(' › ')}`,
      to: `/?question=${encodeURIComponent(id)}`,
    })),
    ...(runs?.items ?? []).map(targetOf),
  ]
  const word = typed.trim().toLowerCase()
  const looked = useFoundRuns(typed.trim())
  const near = targets.filter(({ text, detail }) => `${text} ${detail}`.toLowerCase().includes(word))
  const found = [
    ...new Map([...near, ...looked.runs.map(targetOf)].map((target) => [target.id, target])).values(),
  ].slice(0, 30)
  // words are looked for in the list of runs, where they can be combined with other filters
  const search: readonly Target[] =
    word.length < shortestText
      ? []
      : [
          {
            id: 'search',
            icon: 'search',
            text: typed.trim(),
            detail: 'search inputs, outputs and failures of all runs',
            to: runsPath({ text: typed.trim() }),
          },
        ]
  const shown: readonly Target[] = [...found, ...search]
  const active = Math.min(at, shown.length - 1)
  const go = (target: Target | undefined): void => {
    if (target === undefined) return
    onClose()
    navigate(target.to)
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(active + 1, shown.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(active - 1, 0))
    else if (event.key === 'Enter') go(shown[active])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Page, run or question"
        aria-busy={looked.loading}
        aria-expanded
        aria-controls={list}
        aria-activedescendant={shown[active] && `${list}-${active}`}
        placeholder="Page, question, beginning of a run’s id, or words of a run"
        value={typed}
        onKeyDown={press}
        onChange={({ target }) => {
          setTyped(target.value)
          setAt(0)
        }}
      />
      <div className="palette-list" role="listbox" id={list} aria-label="Matches" tabIndex={-1}>
        {shown.map((target, i) => (
          // the combobox has the keyboard
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={target.id}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === active}
            onClick={() => go(target)}
          >
            <Icon name={target.icon} />
            <span className="truncate">
              <VisibleText>{target.text}</VisibleText>
            </span>
            <span className="muted truncate">
              <VisibleText>{target.detail}</VisibleText>
            </span>
          </div>
        ))}
      </div>
      {shown.length === 0 && (
        <p className="muted" role="status">
          {looked.loading ? 'Looking…' : 'Nothing begins so.'}
        </p>
      )}
    </Dialog>
  )
}
