/**
 * A process that is tortured: opens the store, drives whatever is there, reaches the outside world by a socket, and
 * never ends by itself.
 *
 * Arguments: the store, the socket, options as JSON, and for how long some of its tools block the event loop, in
 * milliseconds.
 */
import { ReeveError } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedOptions } from '@reeve/sqlite'
import { outsideAt } from './outside.ts'
import { everything } from './team.ts'

const [file, path, options, blockMs] = process.argv.slice(2) as [string, string, string, string]
const { reach, up } = outsideAt(path, Number(blockMs))

/**
 * A frozen process may hold the file for longer than anybody waits. Whoever begins just then tries again, as the error
 * says.
 */
function driven(): void {
  try {
    engine.drive(everything(reach))
  } catch (thrown) {
    if (!ReeveError.is(thrown, 'store.busy')) throw thrown
    setTimeout(driven, 50)
    return
  }
  up()
}

const engine = createEmbeddedEngine({
  file,
  onWarning: () => undefined,
  ...(JSON.parse(options) as Partial<EmbeddedOptions>),
})
driven()
