/**
 * What comes from outside: a command to a run, a message to an activation, an answer to a question.
 *
 * Holds: K2 (the first row under a key wins; a deadline competes for the same row as the answers).
 */
import { runOf, type ActivationId } from '../../core/index.ts'
import { askKey, type PostResult } from '../../engine/index.ts'
import type { OutsidePost } from './port.ts'
import { rouse } from './posting.ts'
import { ask, inserted, rowOf, rowsOf, statement, tell, write, type Work } from './sql.ts'

interface Posted {
  readonly result: PostResult
  readonly wake?: string
}
interface Asked {
  readonly id: string
  readonly address: string
  readonly key: string
  readonly kind: string
  readonly until: number | null
}

/** What the clock answers. */
export const deadlineBody = (address: string): string => JSON.stringify({ type: 'deadline', address })

export function* post(p: OutsidePost): Work<Posted> {
  const [runs, acts] = yield* ask(
    statement('SELECT ended FROM run WHERE id = $1 FOR UPDATE', runOf(p.to)),
    statement('SELECT settled FROM activation WHERE id = $1', p.to),
  )
  const run = runs?.[0] as { ended: number | null } | undefined
  const activation = acts?.[0] as { settled: number } | undefined
  if (run === undefined) return { result: 'unknown' }
  // Nobody is commanded any more, whoever it was for.
  if (p.target === 'run' && run.ended !== null) return { result: 'closed' }
  if (activation === undefined) return { result: 'unknown' }
  if (p.target === 'question') return yield* answer(p)
  if (run.ended !== null || activation.settled === 1) return { result: 'closed' }
  const { first, wake } = yield* put(p.to, p.key, p.body)
  return said(first || p.target === 'activation' ? 'accepted' : 'lost', wake)
}

const said = (result: PostResult, wake: string | null): Posted => (wake === null ? { result } : { result, wake })

function* answer(p: OutsidePost): Work<Posted> {
  const asked = yield* findQuestion(p)
  if (asked === undefined) {
    const row = yield* rowOf('SELECT num FROM inbox WHERE act = $1 AND key = $2', p.to, askKey + p.key)
    return { result: row === undefined ? 'closed' : 'lost' }
  }
  const late = asked.until !== null && asked.until < p.now
  const { first, wake } = yield* put(p.to, asked.key, late ? deadlineBody(asked.address) : p.body)
  // In any case: a deadline that stayed behind would ring for ever.
  yield* write('UPDATE question SET until = NULL WHERE id = $1', asked.id)
  return said(first && !(late && p.kinds !== undefined) ? 'accepted' : 'lost', wake)
}

/** What a run has diverged at is asked at addresses that nobody outside knows: the first one is meant then. */
function* findQuestion({ to, key, kinds }: OutsidePost): Work<Asked | undefined> {
  const questions = yield* rowsOf<Asked>('SELECT id, address, key, kind, until FROM question WHERE act = $1 ORDER BY num', to)
  const asked = questions.filter(({ kind }) => kinds?.some((each) => each === kind) ?? true)
  const here = asked.find(({ address }) => address === key)
  return here ?? (kinds?.includes('diverged') === true ? asked.find(({ kind }) => kind === 'diverged') : undefined)
}

/** The invocation is told as long as the row is unread: whoever posts again may do so because the first word was lost. */
function* put(to: ActivationId, key: string, body: string): Work<{ readonly first: boolean; readonly wake: string | null }> {
  const fresh = yield* inserted(
    'inbox(run, act, key, body)',
    [[runOf(to), to, key, body]],
    'ON CONFLICT(act, key) DO NOTHING RETURNING num',
  )
  const first = fresh.length === 1
  const state = 'SELECT i.taken, a.invocation FROM inbox i JOIN activation a ON a.id = i.act WHERE i.act = $1 AND i.key = $2'
  const row = yield* rowOf<{ taken: number; invocation: string | null }>(state, to, key)
  if (row === undefined || row.taken === 1) return { first, wake: null }
  yield* rouse([to])
  yield* tell(runOf(to))
  return { first, wake: row.invocation }
}
