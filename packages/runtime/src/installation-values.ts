/**
 * Installation values: values beside the runs, for what stands around a runtime, such as a server.
 *
 * Owns: which engine a runtime has. Does not own: what is kept (whoever asks for a stream).
 * Holds: shared by all processes of the store (K1, K2); a runtime that another package has made has none.
 */
import type { Engine, StreamValues } from '@reeve/engine'

const engines = new WeakMap<object, Engine>()

/** Called once for each runtime that is made. */
export const rememberEngine = (runtime: object, engine: Engine): void => void engines.set(runtime, engine)

/** The values of a stream that outlives runs (`reg_…`); undefined for what is no runtime of this package. */
export const installationValues = (runtime: object, stream: string): StreamValues | undefined =>
  engines.get(runtime)?.stream(stream)
