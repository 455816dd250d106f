/**
 * Once before the tests of packages/temporal/test/server: the Temporal command is there, or is built, or it is said why all of them are
 * skipped.
 */
import { buildTemporal, whyNoTemporal } from '../../../../test/servers/temporal.ts'

const say = (line: string): void => void process.stderr.write(`temporal: ${line}\n`)

export function setup(): void {
  buildTemporal(say)
  const why = whyNoTemporal()
  if (why !== undefined) say(why)
}
