/**
 * The suite of attacks: each in a world of its own.
 *
 * Owns: trying one attack, what came of it. Does not own: the attacks (attacks/), who asks for which (main.ts,
 * redteam.test.ts).
 */
import { Fell, Skipped, type Attack } from './attack.ts'
import { World } from './world.ts'

/** What came of an attack. */
export type Result =
  | { readonly status: 'held' }
  /** It worked: what was seen. */
  | { readonly status: 'fell'; readonly seen: string }
  /** What it needs is not there: why. */
  | { readonly status: 'skipped'; readonly why: string }
  /** It could not be tried to its end: an error that is no finding. */
  | { readonly status: 'broken'; readonly error: unknown }

/** So long may an attack take. Milliseconds. */
const patience = 120_000

export async function tryAttack(attack: Attack): Promise<Result> {
  const world = await World.begin()
  let callOff: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    callOff = setTimeout(() => reject(new Error(`no result after ${patience} ms`)), patience)
  })
  try {
    await Promise.race([attack.run(world), late])
    return { status: 'held' }
  } catch (thrown) {
    if (thrown instanceof Fell) return { status: 'fell', seen: thrown.message }
    if (thrown instanceof Skipped) return { status: 'skipped', why: thrown.message }
    return { status: 'broken', error: thrown }
  } finally {
    clearTimeout(callOff)
    await world.end()
  }
}
