/**
 * Human waits: the channel on which a worker tells its leader that it begins or ceases to wait for a human.
 *
 * Owns: the form of these messages (K4: persistent). Does not own: when they are sent and what follows
 * (oversight/approval/concurrency-slot.ts), what a fork does with them (fork/fork.ts).
 */
import { TypedChannel } from './replay/channel.ts'

/** A worker begins (true) or ceases to wait for a human. */
export const humanWaits = new TypedChannel<{ readonly waits: boolean }>('$permit', (member) => ({
  waits: member('waits') === true,
}))
