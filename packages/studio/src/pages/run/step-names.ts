/**
 * Step names: what the steps and timers of Reeve itself do, in the words of people, by their addresses in the journal.
 *
 * Owns: the one table of these names, which of them only the engine cares about, which timers only bound other work. Does
 * not own: the names of users' steps, tools and models, which are shown as they are. Pure.
 * Holds: `test/unit/run-step-names.test.ts` finds a step of Reeve that has no row.
 */

/**
 * `engine`: it keeps the run consistent, and is folded away. `hook`: it is a function of the user that Reeve calls.
 * `deadline`: it says how long other work may take, and nothing waits for it.
 */
type StepRole = 'engine' | 'hook' | 'work' | 'deadline'

export interface StepName {
  readonly label: string
  readonly role: StepRole
  /** A step of Reeve, with a row here. */
  readonly isKnown: boolean
}

type Row = readonly [address: RegExp, role: StepRole, label: string | ((name: string, scope: string) => string)]

/** Addresses without numbers. The first row that fits. Those of agents' code have no scope, or the user's. */
const rows: readonly Row[] = [
  [/^!cancel!\/\d+$/, 'deadline', 'Ends the time for undoing'],
  [/^!cancel\//, 'work', (_, scope) => `Undoes ${scope.slice('!cancel/'.length)}`],
  [/(?:^|\/)begin\/gate$/, 'engine', 'Checks which tasks may begin'],
  [/(?:^|\/)capability$/, 'engine', 'Uses an approval'],
  [/(?:^|\/)approval\.preview$/, 'hook', 'Shows what the call would change'],
  [/(?:^|\/)value\.(?:get|get-all)(?::|$)/, 'engine', 'Reads a value of the session'],
  [/(?:^|\/)value\./, 'engine', 'Writes a value of the session'],
  [/(?:^|\/)stream\.[^/]*\.get(?::|$)/, 'engine', 'Reads a shared record'],
  [/(?:^|\/)stream\./, 'engine', 'Writes a shared record'],
  [/(?:^|\/)work\.(?:done|earlier)$/, 'engine', 'Looks up what was done before'],
  [/\/room(?:\/room)*\/(?:until|look)$/, 'engine', 'Waits for room in a limit'],
  [/(?:^|\/)(?:session|thread)\/(?:.*\/)?look$/, 'engine', 'Looks whether its turn has come'],
  [/(?:^|\/)(?:session|thread)\/(?:.*\/)?wait$/, 'engine', 'Waits for its turn'],
  [/(?:^|\/)planning\/(?:.*\/)?plan$/, 'work', 'Plans'],
  [/(?:^|\/)policy\/.*(?:recruit|retire|message|plan)$/, 'hook', (name) => `Asks the policy: ${name}`],
  [/(?:^|\/)staff\/.*lead$/, 'hook', 'Asks the lead'],
  [/(?:^|\/)memory\.recall$/, 'hook', 'Recalls from its memory'],
  [/(?:^|\/)memory\.(?:record|save)$/, 'hook', 'Records in its memory'],
  [/(?:^|\/)start\.context$/, 'hook', 'Adds to what the run was asked'],
  [/\/score:[^/]*$/, 'hook', (name) => `Scores: ${name.slice('score:'.length)}`],
  [/\/compaction\/summarize$/, 'hook', 'Summarises the conversation'],
  [/\/assess$/, 'hook', 'Assesses the result'],
  [/\/synthesize$/, 'hook', 'Puts the results together'],
  [/\/advisor$/, 'hook', 'Asks the advisor'],
  [/\/similarity$/, 'hook', 'Looks for similar work'],
  [/\/until\/until$/, 'hook', 'Checks whether the loop is done'],
  [
    /\/(?:[^/]*\.)?(?:onStart|onComplete|filterMessages|onScored|onIterationComplete|isComplete|onDelegationStart|onDelegationComplete)$/,
    'hook',
    (name) => `Hook: ${name}`,
  ],
  [/^(?:.*\/)?tell$/, 'work', 'Notifies people'],
  [/(?:^|\/)(?:timeout|deadline|idle)$/, 'deadline', 'Ends the time for other work'],
  [/(?:^|\/)last-mail$/, 'engine', 'Looks for a deadlock'],
  [/(?:^|\/)retry$/, 'work', 'Waits before another attempt'],
  [/(?:^|\/)mail$/, 'work', 'Waits for mail'],
  [/(?:^|\/)sleep$/, 'work', 'Sleeps'],
]

/** The last part of an address without its number, and what stands before it. */
function partsOf(address: string): { readonly plain: string; readonly scope: string; readonly name: string } {
  const plain = address
    .split('/')
    .map((part) => part.replace(/#\d+$/, ''))
    .join('/')
  const at = plain.lastIndexOf('/')
  return { plain, scope: decoded(plain.slice(0, Math.max(0, at))), name: decoded(plain.slice(at + 1)) }
}

/** Addresses write some characters of names by their numbers. */
const decoded = (part: string): string =>
  part.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** An address as people wrote its names. */
export const decodedAddress = (address: string): string => decoded(address)

const named = new Map<string, StepName>()
const mostNamed = 20_000

/** The name of a step or a timer at an address. */
export function stepName(address: string): StepName {
  const known = named.get(address)
  if (known !== undefined) return known
  if (named.size >= mostNamed) named.clear()
  const found = nameOf(address)
  named.set(address, found)
  return found
}

function nameOf(address: string): StepName {
  const { plain, scope, name } = partsOf(address)
  const row = rows.find(([pattern]) => pattern.test(plain))
  if (row === undefined) return { label: name, role: 'work', isKnown: false }
  const [, role, label] = row
  return { label: typeof label === 'string' ? label : label(name, scope), role, isKnown: true }
}

/** It says how long other work may take: nothing waits for it. */
export const isDeadline = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
  kind === 'timer' && stepName(name).role === 'deadline'

/** What only the engine cares about. */
export const isOfEngine = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
  (kind === 'timer' || kind === 'step') && stepName(name).role === 'engine'

/** What an agent does while it waits for this timer. */
export function timerText(address: string): string {
  const { label, isKnown } = stepName(address)
  return isKnown ? lowered(label) : 'waits for a timer'
}

const lowered = (label: string): string => label.charAt(0).toLowerCase() + label.slice(1)

/** What an agent does in this step. */
export function stepText(address: string): string {
  const { label, isKnown } = stepName(address)
  return isKnown ? lowered(label) : `does ${label}`
}

/** How a part of a run is called: its own name, or what a step of Reeve does. */
export const spanLabel = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  kind === 'step' || kind === 'timer' ? stepName(name).label : name
