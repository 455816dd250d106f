/**
 * The approvals inbox over all runs: what waits for a person, the most urgent first, and the one that is open.
 *
 * Holds: the open question stays open when somebody else answers it, and says who did.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import type { QuestionView } from '@reeve/server/wire'
import { useQuestions } from '../../data/questions.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { useParams } from '../../router.tsx'
import { Badge, RiskBadge } from '../../ui/badge.tsx'
import { Checkbox, Select, TextInput } from '../../ui/field.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { Countdown, serverNow, Time, useNow } from '../../ui/time.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import './inbox.css'
import { QuestionDetail } from './question-detail.tsx'
import { inOrder, matches, subjectOf } from './question-order.ts'

const kindWords = {
  approval: 'Approval',
  interrupt: 'Question',
  'in-doubt': 'In doubt',
  diverged: 'Diverged',
} as const

const rowHeight = 88

export function InboxPage() {
  const { data, error, reload } = useQuestions()
  const [params, setParams] = useParams()
  const search = useRef<HTMLInputElement>(null)
  const queue = useRef<HTMLDivElement>(null)
  const filter = {
    kind: params.get('kind') ?? '',
    risk: params.get('risk') ?? '',
    agent: params.get('agent') ?? '',
    mine: params.get('mine') ?? '',
    text: params.get('text') ?? '',
  }
  const { kind, risk, agent, mine, text } = filter
  const all = useMemo(() => inOrder(data?.items ?? [], serverNow()), [data])
  const shown = useMemo(
    () => all.filter((each) => matches(each, { kind, risk, agent, mine, text })),
    [all, kind, risk, agent, mine, text],
  )
  const asked = params.get('question')
  const selected = asked ?? shown[0]?.id
  const open = all.find(({ id }) => id === selected)
  // what was open stays, also when it is answered elsewhere
  const [last, setLast] = useState<QuestionView>()
  if (open !== undefined && open !== last) setLast(open)
  const gone = open === undefined && asked !== null && last?.id === asked ? last : undefined
  const at = shown.findIndex(({ id }) => id === selected)
  const go = (to: number): void => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, to))]
    if (next === undefined) return
    setParams({ question: next.id })
    const list = queue.current?.querySelector<HTMLElement>('.virtual')
    const top = shown.indexOf(next) * rowHeight
    if (list && (top < list.scrollTop || top + rowHeight > list.scrollTop + list.clientHeight))
      list.scrollTop = top - rowHeight
  }
  useHotkeys({
    j: () => go(at + 1),
    k: () => go(at - 1),
    Enter: () => document.querySelector<HTMLElement>('#question-detail')?.focus(),
    '/': () => search.current?.focus(),
    Escape: () => setParams({ text: '', ...(window.innerWidth <= 720 ? { question: '' } : undefined) }),
  })
  // the address names what is open, so that it stays open when another one becomes more urgent
  useEffect(() => {
    if (asked === null && selected !== undefined && window.innerWidth > 720) setParams({ question: selected })
  })
  const agents = useMemo(() => [...new Set(all.flatMap(({ path }) => path))].toSorted(), [all])
  const detail = open ?? gone
  return (
    <div className={`inbox${asked !== null && detail !== undefined ? ' open' : ''}`}>
      <div className="queue" ref={queue}>
        <header>
          <div className="row">
            <h1 className="grow">Inbox</h1>
            {data !== undefined && (
              <span className="muted">
                {shown.length === all.length ? `${all.length} waiting` : `${shown.length} of ${all.length}`}
              </span>
            )}
          </div>
          <TextInput
            ref={search}
            type="search"
            aria-label="Search the questions"
            placeholder="Search"
            value={text}
            onChange={({ target }) => setParams({ text: target.value })}
            onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
          />
          <div className="filters">
            <Select aria-label="Kind" value={kind} onChange={({ target }) => setParams({ kind: target.value })}>
              <option value="">All kinds</option>
              {Object.entries(kindWords).map(([value, word]) => (
                <option key={value} value={value}>
                  {word}
                </option>
              ))}
            </Select>
            <Select aria-label="Risk" value={risk} onChange={({ target }) => setParams({ risk: target.value })}>
              <option value="">Any risk</option>
              {['critical', 'high', 'medium', 'low'].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
            <Select aria-label="Agent" value={agent} onChange={({ target }) => setParams({ agent: target.value })}>
              <option value="">All agents</option>
              {agents.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          </div>
          <Checkbox checked={mine !== ''} onChange={({ target }) => setParams({ mine: target.checked ? 'yes' : '' })}>
            Only what I may answer
          </Checkbox>
        </header>
        {data === undefined ? (
          error === undefined ? (
            <Loading what="questions" />
          ) : (
            <ErrorState error={error} onRetry={reload} />
          )
        ) : shown.length === 0 ? (
          <Empty icon="check" title={all.length === 0 ? 'Nothing waits for a person' : 'No question matches'}>
            {all.length === 0
              ? 'A run that needs a decision appears here at once.'
              : 'Take a filter away to see the others.'}
          </Empty>
        ) : (
          <div className="questions">
            <VirtualList
              label="Questions"
              count={shown.length}
              rowHeight={rowHeight}
              rowKey={(i) => shown[i]!.id}
              render={(i) => (
                <QuestionRow
                  question={shown[i]!}
                  current={shown[i]!.id === selected}
                  onOpen={() => setParams({ question: shown[i]!.id })}
                />
              )}
            />
          </div>
        )}
      </div>
      <section className="detail" id="question-detail" tabIndex={-1} aria-label="The open question">
        {detail === undefined ? (
          data !== undefined &&
          (asked === null ? (
            <Empty icon="inbox" title="No question is open" />
          ) : (
            <Empty icon="check" title="This question is not open any more">
              It was answered, or its run has gone on without it.
            </Empty>
          ))
        ) : (
          <QuestionDetail
            key={detail.id}
            question={detail}
            gone={gone !== undefined}
            equal={all.filter(({ same }) => same === detail.same)}
            onBack={() => setParams({ question: '' })}
            onNext={() => {
              const next = shown.find(({ id, same }) => id !== detail.id && same !== detail.same)
              setParams({ question: next?.id ?? '' })
            }}
            onOpen={(id) => setParams({ question: id })}
          />
        )}
      </section>
    </div>
  )
}

function QuestionRow(props: {
  readonly question: QuestionView
  readonly current: boolean
  readonly onOpen: () => void
}) {
  const { question, current, onOpen } = props
  const { kind, path, user, approval, askedAt, until } = question
  return (
    <button type="button" className="question" aria-current={current ? 'true' : undefined} onClick={onOpen}>
      <span className="subject truncate">
        <VisibleText>{subjectOf(question)}</VisibleText>
      </span>
      {approval === undefined ? (
        <Badge tone={kind === 'interrupt' ? 'info' : 'held'} icon={kind === 'interrupt' ? 'doubt' : 'warn'}>
          {kindWords[kind]}
        </Badge>
      ) : (
        <RiskBadge risk={approval.risk} />
      )}
      <span className="who truncate">
        <VisibleText>{`${path.join(' › ')}${user === undefined ? '' : ` for ${user}`}`}</VisibleText>
      </span>
      <span className="meta">
        waits <Time at={askedAt} form="since" />
      </span>
      {until !== undefined && <Deadline until={until} />}
    </button>
  )
}

const soonMs = 5 * 60_000

function Deadline({ until }: { readonly until: number }) {
  const soon = until - useNow() < soonMs
  return (
    <span className={`meta${soon ? ' soon' : ''}`}>
      <Countdown until={until} />
    </span>
  )
}
