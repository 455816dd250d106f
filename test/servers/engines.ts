/**
 * The engines that processes share, made from plain data, so that a test or a bench can hand them to a process that it
 * starts.
 */
import type { Engine } from '@reeve/engine'
import { restate, type RestateOptions } from '../../packages/restate/src/index.ts'
import { temporal, type TemporalOptions } from '../../packages/temporal/src/index.ts'
import { postgres } from '@reeve/postgres/postgres'

/** Which engine, and how it is set up: as JSON may say it. */
export type Place =
  | ({ readonly engine: 'postgres' } & Common)
  | ({ readonly engine: 'restate' } & Common &
      Pick<RestateOptions, 'ingress' | 'admin' | 'namespace' | 'listen' | 'advertise' | 'identityKeys'>)
  | ({ readonly engine: 'temporal' } & Common & Pick<TemporalOptions, 'address' | 'taskQueue'>)

interface Common {
  readonly store: string
  readonly poolSize?: number
  readonly parkAfterMs?: number
  readonly lossLimit?: number
}

export const sharedEngines = ['postgres', 'restate', 'temporal'] as const
export type SharedEngine = (typeof sharedEngines)[number]

/** Opens it. */
export function engineAt(place: Place, onWarning?: (code: string, message: string) => void): Engine {
  const also = onWarning === undefined ? {} : { onWarning }
  switch (place.engine) {
    case 'postgres': {
      const { engine: _, store: url, ...others } = place
      return postgres({ url, ...others, ...also })
    }
    case 'restate': {
      const { engine: _, ...others } = place
      return restate({ ...others, ...also })
    }
    case 'temporal': {
      const { engine: _, ...others } = place
      return temporal({ ...others, ...also })
    }
  }
}
