/**
 * A worker that is tortured: drives whatever it is given or finds, reaches the outside world by a socket, never ends by
 * itself.
 *
 * Arguments: the socket, options of the engine as JSON, its name.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ReeveError } from '@reeve/core'
import { engineAt, type Place } from '../servers/engines.ts'
import { outsideAt } from '../crash/kill/outside.ts'
import { chaosRegistry } from './scenario.ts'

const [path, given, name] = process.argv.slice(2) as [string, string, string]
const { reach, up } = outsideAt(path)
const place = JSON.parse(given) as Place
// By this name the store's recorder knows who has written what.
const url = new URL(place.store)
url.searchParams.set('application_name', `${name}.${process.pid}`)
const say = (code: string, message: string): void =>
  void process.stderr.write(`${new Date().toISOString()} ${name}.${process.pid} ${code} ${message}\n`)
const engine = engineAt({ ...place, store: url.href }, say)
for (;;) {
  try {
    await engine.drive(chaosRegistry(reach))
    break
  } catch (thrown) {
    // Its server or the database is down at the moment.
    if (!ReeveError.is(thrown)) throw thrown
    say(thrown.code, thrown.message)
    await sleep(200)
  }
}
up()
