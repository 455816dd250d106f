/**
 * The approvals inbox over all runs: what waits for a person, in groups of one tool and agent, the most urgent first; the
 * one that is open, or all that are selected.
 *
 * Holds: the open question stays open when somebody else answers it, and says who did. What is under the pointer does
 * not move.
 */
import { useEffect, useMemo, useRef, useState, type MouseEvent } from 'react'
import type { QuestionView } from '@reeve/server/wire'
import { useQuery } from '../../data/queries.ts'
import { useQuestions } from '../../data/questions.ts'
import { server } from '../../data/server.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { Link, useParams } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { countText } from '../../ui/count-text.ts'
import { Checkbox, Select, TextInput } from '../../ui/field.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { isNarrow } from '../../ui/narrow.ts'
import { serverNow } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'
import { aloneReason } from './argument-fields.ts'
import { mostTogether } from './decisions.ts'
import { useAnsweredElsewhere, useHeldQuestions, useNear } from './held-questions.ts'
import './inbox.css'
import { QuestionDetail } from './question-detail.tsx'
import { inboxLines, questionGroups, type InboxLine, type QuestionGroup } from './question-groups.ts'
import { inOrder, matches } from './question-order.ts'
import { GroupRow, kindLabels, QuestionRow, type Chosen } from './question-row.tsx'
import { SelectionResults, SelectionReview, type DecidedSelection } from './selection-review.tsx'

/** Pixels of a line: the head of a group, a question of a group, one that is alone. */
const heights = { group: 40, grouped: 40, alone: 72 } as const
const heightOf = (line: InboxLine): number =>
  line.type === 'group' ? heights.group : line.group.questions.length > 1 ? heights.grouped : heights.alone

export function InboxPage() {
  const { data, error, reload } = useQuestions()
  const [params, setParams] = useParams()
  const toast = useToast()
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
  const matching = useMemo(
    () => all.filter((each) => matches(each, { kind, risk, agent, mine, text })),
    [all, kind, risk, agent, mine, text],
  )
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const [decided, setDecided] = useState<DecidedSelection>()
  const anchor = useRef<string>(undefined)
  const here = useRef(new Set<string>())
  const near = useNear()
  const { shown, gone, arrived, release, drop } = useHeldQuestions(
    matching,
    data !== undefined && (near.isNear || selected.size > 0),
    JSON.stringify([kind, risk, agent, mine, text, data === undefined]),
  )
  const elsewhere = useAnsweredElsewhere(data?.items, here)
  const groups = useMemo(() => questionGroups(shown), [shown])
  const lines = useMemo(() => inboxLines(groups, folded), [groups, folded])
  const rowHeights = useMemo(() => lines.map(heightOf), [lines])
  const chosen = useMemo(
    () => shown.filter((each) => selected.has(each.id) && !gone.has(each.id) && aloneReason(each) === undefined),
    // the set of those that have gone is new whenever the list is
    // oxlint-disable-next-line react/exhaustive-deps
    [shown, selected],
  )

  const asked = params.get('question')
  const current = asked ?? questionsOf(lines)[0]?.id
  // one that is not among those that were read
  const isBeyond = asked !== null && data?.next !== undefined && !all.some(({ id }) => id === asked)
  const beyond = useQuery(isBeyond ? `question:${asked}` : '', ['questions'], (signal) =>
    server.questions.get(asked!, { signal }),
  )
  const open = all.find(({ id }) => id === current) ?? (beyond.error === undefined ? beyond.data : undefined)
  // what was open stays, also when it is answered elsewhere
  const [last, setLast] = useState<QuestionView>()
  if (open !== undefined && open !== last) setLast(open)
  const left = open === undefined && asked !== null && last?.id === asked ? last : undefined
  const detail = open ?? left

  const at = lines.findIndex((line) => line.type === 'question' && line.question.id === current)
  const show = (index: number): void => {
    const list = queue.current?.querySelector<HTMLElement>('.virtual')
    const top = rowHeights.slice(0, index).reduce((sum, height) => sum + height, 0)
    if (list && (top < list.scrollTop || top + rowHeights[index]! > list.scrollTop + list.clientHeight))
      list.scrollTop = top - heights.alone
  }
  const go = (step: 1 | -1): void => {
    for (let i = at + step; i >= 0 && i < lines.length; i += step) {
      const line = lines[i]!
      if (line.type !== 'question') continue
      setParams({ question: line.question.id })
      return show(i)
    }
  }
  const choose = (ids: readonly string[], isChosen: boolean): void => {
    const next = new Set(chosen.map(({ id }) => id))
    for (const id of ids) {
      if (!isChosen) next.delete(id)
      else if (next.size < mostTogether) next.add(id)
      else {
        toast.note(`At most ${mostTogether} are decided at once: the first ${mostTogether} are selected.`)
        break
      }
    }
    setDecided(undefined)
    setSelected(next)
  }
  const mayChoose = (each: QuestionView): boolean => !gone.has(each.id) && aloneReason(each) === undefined
  const toggle = (question: QuestionView, isRange: boolean): void => {
    const reason = gone.has(question.id) ? 'it is not open any more' : aloneReason(question)
    if (reason !== undefined) return toast.note(`This is not decided together with others: ${reason}.`)
    const rows = questionsOf(lines)
    const [from, to] = [rows.findIndex(({ id }) => id === anchor.current), rows.indexOf(question)]
    if (isRange && from !== -1 && to !== -1)
      choose(
        rows
          .slice(Math.min(from, to), Math.max(from, to) + 1)
          .filter(mayChoose)
          .map(({ id }) => id),
        true,
      )
    else choose([question.id], !selected.has(question.id))
    anchor.current = question.id
  }
  const toggleGroup = (group: QuestionGroup): void => {
    const ids = group.questions.filter(mayChoose).map(({ id }) => id)
    choose(ids, chosenOf(group, selected, mayChoose) === 'none')
  }
  const clear = (): void => {
    setSelected(new Set())
    anchor.current = undefined
  }
  const pressed = (isRange: boolean): void => {
    const line = lines[at]
    if (line?.type === 'question') toggle(line.question, isRange)
  }
  useHotkeys({
    j: () => go(1),
    k: () => go(-1),
    x: ({ shiftKey }) => pressed(shiftKey),
    X: ({ shiftKey }) => pressed(shiftKey),
    Enter: () => document.querySelector<HTMLElement>('#question-detail')?.focus(),
    '/': () => search.current?.focus(),
    Escape: () => {
      if (decided !== undefined) setDecided(undefined)
      else if (selected.size > 0) clear()
      else setParams({ text: '', ...(isNarrow() ? { question: '' } : undefined) })
    },
  })
  // the address names what is open, so that it stays open when another one becomes more urgent
  useEffect(() => {
    if (asked === null && current !== undefined && !isNarrow()) setParams({ question: current })
  })
  // what is being decided stays on the screen, also when the list learns of it first
  const [deciding, setDeciding] = useState<readonly QuestionView[]>()
  const reviewed = deciding ?? chosen
  const [isReviewing, setReviewing] = useState(false)
  if (isReviewing && reviewed.length === 0) setReviewing(false)
  const agents = useMemo(() => [...new Set(all.flatMap(({ path }) => path))].toSorted(), [all])
  const isOpen =
    decided !== undefined || isReviewing || (asked !== null && detail !== undefined && reviewed.length === 0)

  if (data === undefined)
    return (
      <div className="page">
        <header>
          <h1>Inbox</h1>
        </header>
        {error === undefined ? <Loading what="questions" /> : <ErrorState error={error} onRetry={reload} />}
      </div>
    )
  if (all.length === 0 && detail === undefined && decided === undefined && reviewed.length === 0 && shown.length === 0)
    return <NothingWaits elsewhere={elsewhere} isAsked={asked !== null} />
  return (
    <div className={`inbox${isOpen ? ' open' : ''}`}>
      <div className="queue" ref={queue}>
        <header>
          <div className="row">
            <h1 className="grow">Inbox</h1>
            <span className="muted" role="status">
              {elsewhere > 0 && <span className="elsewhere">{countText(elsewhere)} answered elsewhere · </span>}
              {matching.length === all.length
                ? `${countText(all.length)}${data.next === undefined ? '' : '+'} waiting`
                : `${countText(matching.length)} of ${countText(all.length)}`}
            </span>
          </div>
          <div className="filters">
            <TextInput
              ref={search}
              type="search"
              aria-label="Search the questions"
              placeholder="Search tools, arguments, users"
              value={text}
              onChange={({ target }) => setParams({ text: target.value })}
              onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
            />
            <Select aria-label="Kind" value={kind} onChange={({ target }) => setParams({ kind: target.value })}>
              <option value="">All kinds</option>
              {Object.entries(kindLabels).map(([value, word]) => (
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
        {arrived > 0 && (
          <button type="button" className="arrived" onClick={release}>
            {arrived === 1 ? 'Show 1 new question' : `Show ${countText(arrived)} new questions`}
          </button>
        )}
        {shown.length === 0 ? (
          <Empty icon="search" title="No question matches">
            <Button small onClick={() => setParams({ kind: '', risk: '', agent: '', mine: '', text: '' })}>
              Clear filters
            </Button>
          </Empty>
        ) : (
          <div className="questions" {...near.props}>
            <VirtualList
              label="Questions"
              count={lines.length}
              rowHeight={rowHeights}
              rowKey={(i) => keyOf(lines[i]!)}
              render={(i) => {
                const line = lines[i]!
                return line.type === 'group' ? (
                  <GroupRow
                    group={line.group}
                    isFolded={line.isFolded}
                    chosen={chosenOf(line.group, selected, mayChoose)}
                    onFold={() =>
                      setFolded((was) =>
                        line.isFolded
                          ? new Set([...was].filter((key) => key !== line.group.key))
                          : new Set([...was, line.group.key]),
                      )
                    }
                    onChoose={() => toggleGroup(line.group)}
                  />
                ) : (
                  <QuestionRow
                    question={line.question}
                    group={line.group}
                    isCurrent={line.question.id === current}
                    isChosen={selected.has(line.question.id) && mayChoose(line.question)}
                    isGone={gone.has(line.question.id)}
                    onOpen={(event: MouseEvent) => {
                      if (event.shiftKey) return toggle(line.question, true)
                      setDecided(undefined)
                      setParams({ question: line.question.id })
                    }}
                    onChoose={({ shiftKey }) => toggle(line.question, shiftKey)}
                  />
                )
              }}
            />
          </div>
        )}
        {data.next !== undefined && (
          <p className="muted beyond">
            The oldest {countText(all.length)} are shown. More appear as these are decided.
          </p>
        )}
        {chosen.length > 0 && (
          <div className="selection-bar">
            <span className="grow" role="status">
              {chosen.length} selected
            </span>
            <Button small onClick={clear}>
              Clear
            </Button>
            <Button small tone="accent" onClick={() => setReviewing(true)}>
              Review
            </Button>
          </div>
        )}
      </div>
      <section
        className="detail"
        id="question-detail"
        tabIndex={-1}
        aria-label={reviewed.length > 0 ? 'The selected questions' : 'The open question'}
      >
        {decided !== undefined ? (
          <SelectionResults decided={decided} onClose={() => setDecided(undefined)} />
        ) : reviewed.length > 0 ? (
          <SelectionReview
            questions={reviewed}
            gone={deciding === undefined ? [...selected].filter((id) => gone.has(id)).length : 0}
            onRemove={(id) => choose([id], false)}
            onBack={() => setReviewing(false)}
            onClear={clear}
            onDeciding={(those) => {
              for (const { id } of those ?? []) here.current.add(id)
              setDeciding(those)
            }}
            onDecided={(result) => {
              const settled = result.rows.flatMap(({ question, result: { status } }) =>
                status === 'refused' ? [] : [question.id],
              )
              setDeciding(undefined)
              drop(settled)
              clear()
              setDecided(result)
            }}
          />
        ) : detail === undefined ? (
          asked !== null && !beyond.loading ? (
            <Empty icon="check" title="This question is not open any more">
              It was answered, or its run has gone on without it.
            </Empty>
          ) : null
        ) : (
          <QuestionDetail
            key={detail.id}
            question={detail}
            gone={left !== undefined}
            onBack={() => setParams({ question: '' })}
            onNext={() => {
              if (left === undefined) {
                here.current.add(detail.id)
                drop([detail.id])
              }
              setParams({ question: questionsOf(lines).find(({ id }) => id !== detail.id && !gone.has(id))?.id ?? '' })
            }}
            onOpen={(id) => setParams({ question: id })}
          />
        )}
      </section>
    </div>
  )
}

const questionsOf = (lines: readonly InboxLine[]): readonly QuestionView[] =>
  lines.flatMap((line) => (line.type === 'question' ? [line.question] : []))

const keyOf = (line: InboxLine): string => (line.type === 'group' ? line.group.key : line.question.id)

function chosenOf(
  { questions }: QuestionGroup,
  selected: ReadonlySet<string>,
  mayChoose: (question: QuestionView) => boolean,
): Chosen {
  const those = questions.filter(mayChoose)
  const count = those.filter(({ id }) => selected.has(id)).length
  return count === 0 ? 'none' : count === those.length ? 'all' : 'some'
}

function NothingWaits({ elsewhere, isAsked }: { readonly elsewhere: number; readonly isAsked: boolean }) {
  return (
    <div className="page">
      <header>
        <h1>Inbox</h1>
        {elsewhere > 0 && (
          <span className="muted" role="status">
            {countText(elsewhere)} answered elsewhere
          </span>
        )}
      </header>
      <Empty icon="check" title={isAsked ? 'This question is not open any more' : 'Nothing waits for a person'}>
        <p>
          A run that needs a decision appears here at once. A tool asks for one if it has{' '}
          <code>approval: {"{ risk: 'high' }"}</code>.
        </p>
        <p>
          <Link to="/runs">See the runs</Link>
        </p>
      </Empty>
    </div>
  )
}
