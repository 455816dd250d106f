/** What a pause of a run means to those in it. Owns: nothing; pure. The kinds of pauses are the event store's, and persistent. */
import type { Control } from '../eventstore/index.ts'

/** A human has the run: only they let it go on. */
export const hasHuman = (control: Control | undefined): boolean => control?.at === 'human' || control?.at === 'human-now'

/** What is out and may be repeated is called back. */
export const callsBack = (control: Control | undefined): boolean => control?.at === 'now' || control?.at === 'human-now'
