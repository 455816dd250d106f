/** The command palette: go to a page, a run or a question by typing a part of its name. */
import { useId, useState, type KeyboardEvent } from 'react'
import { useQuery } from './data/queries.ts'
import { server } from './data/server.ts'
import { useMe } from './data/me.ts'
import { pagesFor } from './pages/pages.ts'
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
    ...(runs?.items ?? []).map(({ run, agent, status }) => ({
      id: `run-${run}`,
      icon: 'runs' as const,
      text: run,
      detail: `${agent}, ${status}`,
      to: runPath(run),
    })),
  ]
  const word = typed.trim().toLowerCase()
  const found = targets.filter(({ text, detail }) => `${text} ${detail}`.toLowerCase().includes(word)).slice(0, 30)
  // a run that is not among the last ones is opened by its id
  const shown: readonly Target[] =
    found.length === 0 && word !== ''
      ? [
          {
            id: 'open',
            icon: 'runs',
            text: typed.trim(),
            detail: 'open the run with this id',
            to: runPath(typed.trim()),
          },
        ]
      : found
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
        aria-expanded
        aria-controls={list}
        aria-activedescendant={shown[active] && `${list}-${active}`}
        placeholder="Page, run or question"
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
    </Dialog>
  )
}
