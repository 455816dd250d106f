/**
 * A process without one of the optional packages: says what becomes of a runtime there. Arguments: the package,
 * RestateOptions as JSON.
 */
import { registerHooks } from 'node:module'
import { ReeveError } from '@reeve/core'

const [missing, options] = process.argv.slice(2) as [string, string]
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== missing) return next(specifier, context)
    throw Object.assign(new Error(`Cannot find package '${missing}'`), { code: 'ERR_MODULE_NOT_FOUND' })
  },
})
const say = (what: string, told: unknown): void => void process.stdout.write(`${what} ${JSON.stringify(told)}\n`)
const { restate } = await import('../src/index.ts')
const { createRuntime } = await import('@reeve/runtime')
for (const drive of [false, true]) {
  try {
    await using runtime = await createRuntime({
      engine: restate(JSON.parse(options) as Parameters<typeof restate>[0]),
      drive,
    })
    say(drive ? 'drive' : 'desk', { runs: (await runtime.runs()).length })
  } catch (thrown) {
    say(drive ? 'drive' : 'desk', ReeveError.is(thrown) ? { code: thrown.code, hint: thrown.hint } : String(thrown))
  }
}
