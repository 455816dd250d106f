/**
 * Registration: Restate sends calls to deployments that were made known to it, and a worker sees to it that it stays
 * known.
 *
 * Owns: registering, noticing that no process serves any more, and that a namespace belongs to one store. Does not own:
 * listening (endpoint.ts), when it is looked (mover.ts).
 */
import { connect } from 'node:net'
import { ReeveError } from '@reeve/core'
import { storeLabel } from './call.ts'
import type { RequestWait, RestateClient, ServiceInfo } from './client.ts'

/** What is to be known. */
export interface ServiceRegistration {
  readonly url: string
  readonly service: string
  /** The id of the workers' store. */
  readonly store: string
}

/**
 * Makes this worker's address known to Restate where it is not: `open`, before the worker begins; `stay`, only if no
 * worker answers for the service any more, because Restate was wiped or a later deployment is gone. Resolves with
 * whether something was to be done. Rejects with `config.invalid` where another store has the namespace, or another
 * program the port, and with `engine.*`; a server that is only late is `retryable`. `patience`: how long it has.
 */
export async function register(
  client: RestateClient,
  { url, service, store }: ServiceRegistration,
  why: 'open' | 'stay',
  patience: RequestWait,
): Promise<boolean> {
  const [services, deployments] = await Promise.all([client.services(patience), client.deployments(patience)])
  const serving = services.find(({ name }) => name === service)
  const at = deployments.find(({ id }) => id === serving?.deployment)
  const here = deployments.find(({ uri }) => isSame(uri, url))
  if (serving !== undefined && at !== undefined) {
    if (at === here) {
      if (storeOf(serving) === store) return false
    } else if (await answers(client, at.uri, patience)) {
      if (storeOf(serving) !== store) throw anotherStore(service, at.uri)
      if (why === 'stay' || here?.services.includes(service) === true) return false
    }
  }
  const served = (await client.register(url, { force: here !== undefined, ...patience })).find(
    ({ name }) => name === service,
  )
  if (served === undefined) throw anotherProgram(service, url)
  if (storeOf(served) !== store) throw anotherStore(service, url)
  return true
}

const isSame = (uri: string, url: string): boolean => uri.replace(/\/$/, '') === url.replace(/\/$/, '')
const storeOf = ({ metadata }: ServiceInfo): unknown => metadata[storeLabel]

const anotherStore = (service: string, uri: string): ReeveError =>
  new ReeveError('config.invalid', `restate: at ${uri} a worker with another store serves ${service}`, {
    hint: 'A namespace belongs to one store. Name the same store in all processes, or another namespace for this one.',
  })

const anotherProgram = (service: string, url: string): ReeveError =>
  new ReeveError('config.invalid', `restate: the worker that answers at ${url} does not serve ${service}`, {
    hint: 'Another program listens on the same port. Name another one in listen, or another address in advertise.',
  })

/**
 * Whether a worker is there. The server is asked only if this process sees none: it may know the address by another
 * way.
 */
const answers = async (client: RestateClient, uri: string, patience: RequestWait): Promise<boolean> =>
  (await listens(uri)) || (await client.reaches(uri, patience))

function listens(uri: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(uri)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout: 2_000 })
    const end = (there: boolean) => (): void => {
      socket.destroy()
      resolve(there)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })
}
