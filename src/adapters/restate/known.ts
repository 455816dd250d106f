/**
 * Being known: Restate sends work to deployments that were made known to it, and a worker sees to it that it stays known.
 *
 * Owns: registering, and noticing that nobody serves any more. Does not own: listening (endpoint.ts).
 */
import { connect } from 'node:net'
import { delay, ReeveError, systemClock } from '../../core/index.ts'
import type { RestateClient } from './client.ts'

/** How long a worker tries to make itself known while Restate is not there yet. Milliseconds. */
const registerWithinMs = 5_000
const registerAgainMs = 200

const isSame = (uri: string, url: string): boolean => uri.replace(/\/$/, '') === url.replace(/\/$/, '')

/** Makes the deployment known to Restate. Resolves with its id. Waits a little for a server that is just being started. */
export async function register(client: RestateClient, url: string, services: readonly string[]): Promise<string> {
  for (const end = systemClock.now() + registerWithinMs; ;) {
    try {
      const known = (await client.deployments()).find(({ uri }) => isSame(uri, url))
      if (known !== undefined && services.every((name) => known.services.includes(name))) return known.id
      const { id } = await client.register(url, { force: known !== undefined })
      const served = (await client.deployments()).find((deployment) => deployment.id === id)?.services ?? []
      if (services.every((name) => served.includes(name))) return id
      throw new ReeveError(
        'config.invalid',
        `restate: at ${url} answers a worker that serves ${served.join(', ')}, not ${services.join(', ')}`,
        {
          hint: 'Another program listens on the same port. Name another one in listen, or another address in advertise.',
        },
      )
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'engine.unreachable') || systemClock.now() > end) throw thrown
      await delay(registerAgainMs)
    }
  }
}

/**
 * Makes the deployment known again if one of its services has nobody (any more) who answers for it: Restate was wiped, or a later deployment is gone.
 * True if that was to be done.
 */
export async function stayKnown(client: RestateClient, url: string, services: readonly string[]): Promise<boolean> {
  const [serving, deployments] = await Promise.all([client.services(), client.deployments()])
  for (const name of services) {
    const id = serving.find((service) => service.name === name)?.deployment
    const at = deployments.find((deployment) => deployment.id === id)
    if (at !== undefined && (isSame(at.uri, url) || (await answers(client, at.uri)))) continue
    await client.register(url, { force: deployments.some(({ uri }) => isSame(uri, url)) })
    return true
  }
  return false
}

/** Whether a worker is there. The server is asked only if this process sees none: it may know the address by another way. */
export const answers = async (client: RestateClient, uri: string): Promise<boolean> => (await listens(uri)) || (await client.reaches(uri))

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
