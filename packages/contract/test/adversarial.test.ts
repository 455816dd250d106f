/** The contract of the Engine port, on the adversarial engine, in several kinds of weather. */
import { bindContract } from './bind.ts'
import { adversarial } from './adversarial-bench.ts'

for (const seed of ['one', 'two', 'three']) bindContract('adversarial engine', adversarial(seed))

bindContract('adversarial engine, with a mover', adversarial('five', undefined, true))
