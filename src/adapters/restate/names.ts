/**
 * Names and words that both sides of the engine share: what its services are called, what a workflow is given, how long Restate is to be patient.
 *
 * Owns: no more than that. Needs no SDK, so that whoever only starts, reads and decides need not have it.
 */
import type { ActivationId } from '../../core/index.ts'

/** What the services are called. `build` keeps deployments of different builds apart: a run stays with the build that it began with. */
export interface ServiceNames {
  readonly activation: string
  readonly bell: string
}

export const serviceNames = (namespace: string, build: string | undefined): ServiceNames => ({
  activation: `${namespace}.${build === undefined ? '' : `${build}.`}Activation`,
  bell: `${namespace}.Bell`,
})

/** What an activation's workflow is given. */
export interface Summons {
  readonly activation: ActivationId
  readonly generation: number
}

/** The workflow's key: one for every generation of an activation. */
export const keyOf = ({ activation, generation }: Summons): string => `${generation}:${activation}`

/** How long Restate lets things go on. Milliseconds. */
export interface Patience {
  /** An activation that rests leaves its process after this long. */
  readonly parkAfterMs: number
  /** One effect may take this long; after that, Restate gives the attempt up and begins another. */
  readonly effectsWithinMs: number
  /** How long Restate remembers an ended workflow. The store remembers for as long as it is told to. */
  readonly keepEndedMs: number
}

/** The lines on which Restate speaks to this process, one per attempt. */
export interface Lines {
  /** Says that nothing more is expected on a line: the attempt is then suspended, and another one begins when something comes in. */
  hangUp(line: string): void
}

/** The header under which an attempt is told its line. */
export const lineHeader = 'x-reeve-line'
