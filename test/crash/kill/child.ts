/**
 * A process that is tortured: opens the store, drives whatever is there, reaches the outside world by a socket, and never ends by itself.
 *
 * Arguments: the store, the socket, options as JSON.
 */
import { createEmbeddedEngine, type EmbeddedOptions } from '../../../src/engine/embedded/index.ts'
import { outsideAt } from './outside.ts'
import { everything } from './team.ts'

const [file, path, options] = process.argv.slice(2) as [string, string, string]
const { reach, up } = outsideAt(path)
const engine = createEmbeddedEngine({ file, onWarning: () => undefined, ...(JSON.parse(options) as Partial<EmbeddedOptions>) })
engine.drive(everything(reach))
up()
