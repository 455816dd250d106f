/**
 * The row of an event: everything that is said of an event of one type, in one place.
 *
 * Owns: what a row holds. Does not own: the rows (engine-rows.ts, fact-rows.ts, team-rows.ts), the table
 * (event-table.ts), who reads it: the codec, redaction, the lines of the command line and of the studio, spans, the page
 * of events.
 */
import type { Shape } from '@reeve/core'
import { kept } from './value-shapes.ts'
import type { ArrivalEvent, CommandEvent, JournalEvent, LifecycleEvent } from './events.ts'

/** What an event is to replay. */
export type EventKind = 'lifecycle' | 'command' | 'arrival' | 'note'
/** An event is a command, unless its row says otherwise. */
type Kind<E extends JournalEvent> = E extends LifecycleEvent
  ? { readonly kind: 'lifecycle' }
  : E extends ArrivalEvent
    ? { readonly kind: 'arrival' }
    : E extends CommandEvent
      ? { readonly kind?: 'command' }
      : { readonly kind: 'note' }

/** The members that every event has. */
export const eventPlace = kept('type v op address')
/** Each own member of an event, except numbers and flags, of which nothing can be taken out. */
type ShapeOf<E extends JournalEvent> = {
  readonly [
    Name in Exclude<keyof E, keyof typeof eventPlace> as Required<E>[Name] extends number | boolean ? never : Name
  ]: Shape
}

/** What a sentence may say besides its event. */
export interface LineContext {
  /** The agent whose event it is. */
  readonly agent: string
  /** Of an event with an address: the name of its effect, as far as it is known; else the address. */
  readonly effect: string
  /** Of the end of a question: the id of the interrupt that has ended. Absent: it was none, or is not known. */
  readonly interrupt: string | undefined
  /** Of the end of an effect: it had a line before, so its failure would be missed. */
  readonly wasShown: boolean
  /** Of the end of an effect: it was in doubt. */
  readonly wasInDoubt: boolean
}
type Sentence<E, Text> = (event: E, context: LineContext) => Text

/**
 * Why an event has no line. `internal`: it matters to replay and to the engine alone. `told`: the line of another event
 * says it.
 */
type Unsaid = 'internal' | 'told'

/**
 * `line`: what a log says of it to people who follow a run, in one line; what others wrote in it is made visible by
 * whoever gives the line out, breaks are taken out here. `entry`: what it says where every event is shown, if it has no
 * line.
 */
type Lines<E> =
  | { readonly line: Sentence<E, string>; readonly entry?: never }
  | { readonly line: Unsaid | Sentence<E, string | undefined>; readonly entry: Sentence<E, string> }

/** Everything that is said of one type of event. */
export type EventRow<E extends JournalEvent> = Kind<E> &
  Lines<E> & {
    /** The version that is written, default 1. Raised with an upcaster and a golden journal (K12). */
    readonly v?: number
    /** Of each member what redaction may change (K10). */
    readonly shape: ShapeOf<E>
    /**
     * Members that are shown as attributes where the event is one of a span; undefined: it is none. Only structure: names,
     * ids, states, numbers. Of a `failure`, its code and class.
     */
    readonly span: readonly (keyof E & string)[] | undefined
  }

/** One row for each of these events. */
export type EventRows<E extends JournalEvent> = {
  readonly [Type in E['type']]: EventRow<Extract<E, { readonly type: Type }>>
}
