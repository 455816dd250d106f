/**
 * `reeve watch` at a terminal: the state of the screen, and what each key does.
 *
 * Owns: reading the store again when there is news, the chosen request, what is typed. Does not own: the layout
 * (frame.ts), decisions (runtime), raw keys (terminal.ts). Drives no run.
 *
 * A key decides the request that is on the screen, and no other: one that has just taken the place of another, or whose
 * end was not shown yet, is not decided. Several characters at once are a paste, and no keys.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf, readJson, ReeveError, shellWord, stopwatch, visible, type Json } from '@reeve/core'
import type { Decision, Run, Runtime, RunView } from '@reeve/runtime'
import { readValue } from '../command/answer.ts'
import { currentUser } from '../context.ts'
import { exitOf, exits, type Exit } from '../exit.ts'
import type { FullScreen, Terminal } from '../terminal.ts'
import { entryId, listFrame, runFrame, type Frame, type ListEntry } from './frame.ts'
import { reeve } from '../invocation.ts'
import { isLeft, mayBeDriven, needsDriver } from '../run-driver.ts'

/** A request is decided no sooner than this after it took the place of another one. Milliseconds. */
const settleMs = 400
/** How often the screen is drawn at most, and how often at least. Milliseconds. */
const frameMs = 100
const tickMs = 1_000
/** Nobody waits to be woken. */
const asleep = (): void => {}
/** Runs in the list at most. */
const mostRuns = 200

/** What is being typed, and what is done with it. */
interface TypedLine {
  readonly label: string
  text: string
  readonly done: (text: string) => Promise<void> | void
}

/** The line for a run that no process drives, with the command that does. */
type UndrivenLine = (run: string, agent: string) => Promise<string>

type Verb = Decision['decision']
const verbs: Readonly<Record<Verb, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  edit: 'Approved with edited arguments',
  retry: 'Sent back',
}

/** One use of the screen, until its user leaves. */
export class ConsoleSession {
  readonly #runtime: Runtime
  readonly #terminal: Terminal
  readonly #interrupted: AbortSignal
  readonly #left = new AbortController()
  /** Whether it began with the list, to which a run is left. */
  readonly #hasList: boolean
  readonly #editor: string | undefined
  readonly #where: string
  readonly #undrivenLine: UndrivenLine
  #screen: FullScreen | undefined
  #run: Run | undefined
  #view: RunView | undefined
  #entries: readonly ListEntry[] = []
  #chosen: string | undefined
  #chosenAt = 0
  #hasMore = false
  /** Whether a process may drive runs of this store, and when that was asked. */
  #isDriven = true
  #askedAt = -Infinity
  /** What is said of the run where none does. */
  #undriven: string | undefined
  #scroll = 0
  /** The end of the request is on the screen. */
  #isAtEnd = true
  /** The request whose end was on the screen. */
  #read: string | undefined
  #message = ''
  /** What was said because the store is away. */
  #away: string | undefined
  #prompt: TypedLine | undefined
  /** What one key has begun: keys wait for it. */
  #busy = false
  #isStale = true
  #wake = asleep

  constructor(
    runtime: Runtime,
    run: string | undefined,
    {
      terminal,
      interrupted,
      editor,
      where,
      undrivenLine,
    }: {
      readonly terminal: Terminal
      readonly interrupted: AbortSignal
      readonly editor: string | undefined
      /** Options to repeat in the commands that are shown: `--store …`. */
      readonly where: string
      readonly undrivenLine: UndrivenLine
    },
  ) {
    this.#runtime = runtime
    this.#terminal = terminal
    this.#interrupted = interrupted
    this.#editor = editor
    this.#where = where
    this.#undrivenLine = undrivenLine
    this.#hasList = run === undefined
    this.#run = run === undefined ? undefined : runtime.handle(run)
  }

  /** Resolves to the exit code when its user leaves. Gives the terminal back in any case. */
  async show(): Promise<Exit> {
    await this.#refresh()
    const signal = AbortSignal.any([this.#interrupted, this.#left.signal])
    const news = this.#follow(signal)
    this.#take()
    try {
      while (!signal.aborted) {
        if (this.#isStale && this.#screen !== undefined) await this.#refreshIfPossible()
        this.#draw()
        await this.#next(signal)
      }
    } finally {
      this.#left.abort()
      this.#screen?.leave()
      await news
    }
    if (this.#interrupted.aborted) return exits.interrupted
    return this.#hasList || this.#view?.outcome === undefined ? exits.done : exitOf(this.#view.outcome.status)
  }

  #take(): void {
    this.#screen = this.#terminal.takeScreen?.(
      (keys) => this.#onKeys(keys),
      () => this.#draw(),
    )
  }

  /** Looks again after news of any run. */
  async #follow(signal: AbortSignal): Promise<void> {
    try {
      for await (const _ of this.#runtime.feed({ from: 'now', signal })) {
        this.#isStale = true
        this.#wake()
      }
    } catch {
      // each tick looks again, and says what is wrong
    }
  }

  /** Waits for news, a key, or the next tick. */
  async #next(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const over = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', over)
        this.#wake = asleep
        resolve()
      }
      // answers that no process has read yet are no events
      const timer = setTimeout(() => ((this.#isStale = true), over()), tickMs)
      signal.addEventListener('abort', over)
      const soon = stopwatch() + frameMs
      const wake = (): void => {
        const left = soon - stopwatch()
        if (left <= 0 || signal.aborted) over()
        else setTimeout(over, left)
      }
      this.#wake = wake
      if (signal.aborted) over()
    })
  }

  /** A store that is away for a moment does not end the watch: the next tick looks again. */
  async #refreshIfPossible(): Promise<void> {
    try {
      await this.#refresh()
      if (this.#message === this.#away) this.#message = ''
      this.#away = undefined
    } catch (thrown) {
      if (!ReeveError.is(thrown) || !thrown.retryable) throw thrown
      this.#message = this.#away = messageOf(thrown)
    }
  }

  async #refresh(): Promise<void> {
    this.#isStale = false
    const run = this.#run
    const of = run === undefined ? {} : { run: run.id }
    const [questions, approvals] = [await this.#runtime.questions(of), await this.#runtime.approvals(of)]
    const entries: ListEntry[] = questions.map((question) => {
      const approval = approvals.find(({ id }) => id === question.id)
      return { type: 'question', question, ...(approval === undefined ? {} : { approval }) }
    })
    if (run === undefined) {
      const runs = await this.#runtime.runs({ status: open, limit: mostRuns + 1 })
      this.#hasMore = runs.length > mostRuns
      const now = Date.now()
      await this.#lookForDriver(runs.some((each) => needsDriver(each, now)))
      for (const each of runs.slice(0, mostRuns)) entries.push({ type: 'run', run: each })
    } else {
      const view = await run.view()
      // one read while the run ended may still list a question
      await this.#lookForDriver(view.outcome === undefined && isLeft(await run.summary(), questions, Date.now()))
      this.#undriven = this.#isDriven ? undefined : await this.#undrivenLine(run.id, view.agent)
      this.#view = view
    }
    const before = this.#chosen
    this.#entries = entries
    if (entries.some((entry) => entryId(entry) === before)) return
    if (before !== undefined && run !== undefined && this.#message === '')
      this.#message = `${visible(before)} is not open any more.`
    this.#choose(0)
  }

  /** Asks whether a process may drive runs, where one is needed. It takes counting, and is not asked at every change. */
  async #lookForDriver(isNeeded: boolean): Promise<void> {
    if (!isNeeded) {
      this.#isDriven = true
      this.#askedAt = -Infinity
    } else if (stopwatch() - this.#askedAt >= tickMs) {
      this.#askedAt = stopwatch()
      this.#isDriven = await mayBeDriven(this.#runtime)
    }
  }

  get #index(): number {
    return Math.max(
      0,
      this.#entries.findIndex((entry) => entryId(entry) === this.#chosen),
    )
  }

  #choose(index: number): void {
    const entry = this.#entries[index]
    const id = entry === undefined ? undefined : entryId(entry)
    if (id === this.#chosen) return
    this.#chosen = id
    this.#chosenAt = stopwatch()
    this.#scroll = 0
  }

  #draw(): void {
    if (this.#screen === undefined) return
    const { columns, rows } = this.#terminal
    const size = { columns, rows, now: Date.now() }
    const footer = { message: this.#message, ...(this.#prompt === undefined ? {} : { prompt: this.#prompt }) }
    const frame: Frame =
      this.#run === undefined || this.#view === undefined
        ? listFrame(
            {
              entries: this.#entries,
              selected: this.#index,
              hasMore: this.#hasMore,
              isDriven: this.#isDriven,
            },
            size,
            footer,
          )
        : runFrame(
            {
              view: this.#view,
              requests: this.#entries,
              selected: this.#index,
              scroll: this.#scroll,
              hasList: this.#hasList,
              ...(this.#undriven === undefined ? {} : { undriven: this.#undriven }),
            },
            size,
            footer,
          )
    this.#scroll = frame.scroll
    this.#isAtEnd = frame.isWhole
    if (frame.isWhole) this.#read = this.#chosen
    const { style } = this.#terminal
    this.#screen.draw(frame.lines.map((each) => (each.style === undefined ? each.text : style(each.style, each.text))))
  }

  #onKeys(keys: string): void {
    // a key that is held down comes several times at once
    // eslint-disable-next-line no-control-regex
    const held = /^(?:\u001b\[(?:[AB]|[56]~))+$/.test(keys) ? keys.match(/\[[AB]|\[[56]~/g)! : []
    for (const key of held.length === 0 ? [keys] : held.map((each) => `\u001b${each}`))
      this.#onKey(key).catch((thrown: unknown) => this.#fail(thrown))
    this.#wake()
  }

  #fail(thrown: unknown): void {
    const hint = ReeveError.is(thrown) && thrown.hint !== undefined ? ` ${thrown.hint}` : ''
    this.#message = `${messageOf(thrown)}.${hint}`
    this.#isStale = true
    this.#busy = false
    this.#wake()
  }

  async #onKey(key: string): Promise<void> {
    if (key === '\u0003') return this.#left.abort()
    if (this.#prompt !== undefined) return this.#type(this.#prompt, key)
    const by = moves[key]
    if (by !== undefined) return this.#move(by * (key === up || key === down ? 1 : this.#page))
    if (this.#busy) return
    this.#busy = true
    try {
      await (this.#run === undefined ? this.#inList(key) : this.#inRun(key, this.#run))
    } finally {
      this.#busy = false
    }
  }

  /** Lines that a page moves by: fewer than fit, so that none is passed unseen. */
  get #page(): number {
    return Math.max(1, Math.floor(this.#terminal.rows / 2) - 2)
  }

  /** In the list to another entry; in a run within its request, not beyond its end. */
  #move(by: number): void {
    if (this.#run === undefined) this.#choose(Math.max(0, Math.min(this.#entries.length - 1, this.#index + by)))
    else if (by < 0 || !this.#isAtEnd) this.#scroll = Math.max(0, this.#scroll + by)
  }

  async #inList(key: string): Promise<void> {
    const entry = this.#entries[this.#index]
    if (key === 'q') this.#left.abort()
    else if (key === 'k' || key === 'j') this.#move(key === 'k' ? -1 : 1)
    else if (key === '\r' && entry !== undefined) {
      const run = entry.type === 'run' ? entry.run.run : entry.question.run
      this.#run = this.#runtime.handle(run.split('>')[0]!)
      this.#message = ''
      await this.#refresh()
    }
  }

  async #inRun(key: string, run: Run): Promise<void> {
    const by = currentUser()
    switch (key) {
      case 'q':
        return this.#left.abort()
      case '\u001b':
        if (this.#hasList) [this.#run, this.#view, this.#isStale, this.#message] = [undefined, undefined, true, '']
        return
      case 'k':
      case 'j':
        return this.#move(key === 'k' ? -1 : 1)
      case '\t':
        this.#choose((this.#index + 1) % Math.max(1, this.#entries.length))
        return
      case 'p':
        await run.control.pause({ by })
        return this.#say('Asked the run to pause.')
      case 'u':
        await run.control.resume({ by })
        return this.#say('Asked the run to resume.')
      case 'c':
        return this.#ask('Cancel the run and all its workers? This cannot be undone. Type yes:', async (said) => {
          if (said !== 'yes') return this.#say('Not cancelled.')
          await run.control.cancel('cancelled from reeve watch', by)
          this.#say('Asked the run to cancel.')
        })
      default:
        return this.#onRequest(key)
    }
  }

  async #onRequest(key: string): Promise<void> {
    const entry = this.#entries[this.#index]
    if (!['a', 'r', 's', 'e', 'y', 'n'].includes(key)) return
    if (entry?.type !== 'question') return this.#say('Nothing waits here.')
    if (stopwatch() - this.#chosenAt < settleMs) return this.#say('The request has just changed. Press the key again.')
    const { question, approval } = entry
    const { id } = question
    if (approval === undefined) return this.#answer(key, id, question.kind)
    if (key === 'r') return this.#ask('Reject. Reason (Enter: none):', (said) => this.#decide(id, 'reject', said))
    if (key === 's') return this.#ask('Send back. What is to change:', (said) => this.#decide(id, 'retry', said))
    if (this.#read !== id) return this.#say('The request goes on below: scroll to its end first (↓).')
    if (key === 'a') return this.#decide(id, 'approve', '')
    if (key !== 'e') return
    await this.#edit(
      'Edit the arguments (JSON), Enter approves them:',
      JSON.stringify(approval.input, null, 2),
      (said) => this.#decide(id, 'edit', '', argumentsIn(said)),
    )
  }

  async #answer(key: string, id: string, kind: string): Promise<void> {
    const by = currentUser()
    if (kind === 'interrupt' && key === 'e')
      return this.#edit('Answer (JSON or text), Enter sends it:', '', async (said) => {
        await this.#runtime.answer({ interruptId: id, value: readValue(said), by })
        this.#say(`Answered ${id}.`)
      })
    if (kind === 'in-doubt' && (key === 'y' || key === 'n')) {
      await this.#runtime.settleDoubt({ id, happened: key === 'y', by })
      this.#say(key === 'y' ? 'Settled: it happened.' : 'Settled: it did not happen.')
    }
  }

  async #decide(approvalId: string, decision: Verb, comment: string, input?: Json): Promise<void> {
    const said = { approvalId, approver: currentUser(), ...(comment === '' ? {} : { comment }) }
    await this.#runtime.decide(
      decision === 'edit' ? { ...said, decision, input: input ?? null } : { ...said, decision },
    )
    this.#say(
      `✓ ${verbs[decision]} ${approvalId}. If no worker is running: ${reeve} resume ${shellWord(this.#run?.id ?? '')}${this.#where}`,
    )
  }

  #say(message: string): void {
    this.#message = message
    this.#isStale = true
    this.#wake()
  }

  #ask(label: string, done: TypedLine['done'], text = ''): void {
    this.#prompt = { label: `${label} (Esc: back)`, text, done }
  }

  async #type(prompt: TypedLine, key: string): Promise<void> {
    if (key === '\u001b') {
      this.#prompt = undefined
      return this.#say('')
    }
    if (key === '\r' || key === '\n') {
      this.#prompt = undefined
      return await prompt.done(prompt.text.trim())
    }
    if (key.startsWith('\u001b')) return
    // what is pasted may have several lines, and does not send itself
    for (const char of key)
      if (char === '\u007f' || char === '\b') prompt.text = [...prompt.text].slice(0, -1).join('')
      else prompt.text += char < ' ' ? ' ' : char
  }

  /** In the editor of the environment, else in the last line of the screen. */
  async #edit(label: string, text: string, done: (text: string) => Promise<void>): Promise<void> {
    if (this.#editor === undefined) return this.#ask(label, done, text.replaceAll(/\n\s*/g, ''))
    const folder = await mkdtemp(join(tmpdir(), 'reeve-edit-'))
    const file = join(folder, 'request.json')
    try {
      await writeFile(file, `${text}\n`, { mode: 0o600 })
      this.#screen?.leave()
      this.#screen = undefined
      const code = await inEditor(this.#editor, file)
      const said = (await readFile(file, 'utf8')).trim()
      this.#take()
      if (code !== 0) return this.#say(`The editor ended with ${code}. Nothing was decided.`)
      if (said === text.trim() || said === '') return this.#say('Nothing was changed, and nothing decided.')
      await done(said)
    } finally {
      if (this.#screen === undefined) this.#take()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

const up = '\u001b[A'
const down = '\u001b[B'
/** Keys that move; a page for PgUp and PgDn. */
const moves: Readonly<Record<string, 1 | -1 | undefined>> = { [up]: -1, [down]: 1, '\u001b[5~': -1, '\u001b[6~': 1 }
const open = ['running', 'waiting', 'queued', 'pausing', 'paused', 'human_control', 'stuck'] as const

/** Ctrl-C in the editor is for the editor: a terminal sends the signal to this process and the shell, too. */
async function inEditor(editor: string, file: string): Promise<number> {
  const listeners = process.listeners('SIGINT')
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  for (const each of listeners) process.off('SIGINT', each)
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(`trap : INT; ${editor} ${shellWord(file)}`, { shell: true, stdio: 'inherit' })
      child.on('error', reject)
      child.on('close', (code) => resolve(code ?? 1))
    })
  } finally {
    for (const each of listeners) process.on('SIGINT', each)
    process.off('SIGINT', ignore)
  }
}

function argumentsIn(text: string): Json {
  const read = readJson(text, { path: 'the edited arguments' })
  if (read.ok) return read.value
  const problem = read.none === true ? 'the edited arguments are not JSON' : read.problem
  throw new ReeveError('approval.invalid', problem, { hint: 'Nothing was decided.' })
}
