/**
 * `reeve restate dev` and `reeve restate status`: a Restate server for development, and the state of Reeve on a server.
 *
 * Owns: the output. Does not own: the server process and its client (restate). Neither needs the Restate SDK.
 */
import { shellWord } from '@reeve/core'
import { join, relative, resolve } from 'node:path'
import { RestateClient, type Deployment } from '@reeve/restate/client'
import { startServer } from '@reeve/restate/server'
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'

/** Starts a server and keeps it until Ctrl-C. */
export async function restateDev(
  { terminal, cwd, interrupted }: CommandContext,
  options: {
    readonly dir?: string
    readonly ingressPort: number
    readonly adminPort: number
    readonly nodePort: number
  },
): Promise<Exit> {
  const { dir: given = join('.reeve', 'restate'), ...ports } = options
  const dir = resolve(cwd, given)
  terminal.note(terminal.style('dim', 'Starting Restate…'))
  const server = await startServer({ dir, ...ports })
  const name = (text: string): string => terminal.style('dim', text.padEnd(9))
  terminal.line('Restate is running.')
  terminal.line(`  ${name('ingress')} ${server.ingress}`)
  terminal.line(`  ${name('admin')} ${server.admin}  (with web pages)`)
  terminal.line(`  ${name('data')} ${relative(cwd, dir) || '.'}  (log: ${relative(cwd, server.log)})`)
  terminal.line()
  terminal.line('Use it in a long-running process:')
  terminal.line(
    `  const engine = restate({ ${addresses(server, ports)}store: 'runs.db' })   // import { restate } from 'reeve/restate'`,
  )
  terminal.line('  const runtime = await createRuntime({ engine, agents: [yourTeam] })')
  terminal.line()
  terminal.line(
    `See its state with: ${reeve} restate status${options.adminPort === 9070 && options.ingressPort === 8080 ? '' : where(server)}`,
  )
  terminal.line('Ctrl-C stops it. Started again in the same folder, it continues with its data.')
  const left = new Promise<'left'>((done) => {
    if (interrupted.aborted) done('left')
    else interrupted.addEventListener('abort', () => done('left'), { once: true })
  })
  if ((await Promise.race([left, server.exited.then(() => 'ended' as const)])) === 'left') {
    await server.stop()
    return exits.interrupted
  }
  terminal.note(
    `${terminal.style('red', 'reeve:')} the Restate server ended unexpectedly; see its log: ${shellWord(relative(cwd, server.log))}`,
  )
  return exits.failed
}

const where = ({ ingress, admin }: { readonly ingress: string; readonly admin: string }): string =>
  ` --ingress ${ingress} --admin ${admin}`

/** The addresses to give to `restate`; empty for the default ports. */
const addresses = (
  { ingress, admin }: { readonly ingress: string; readonly admin: string },
  { ingressPort, adminPort }: { readonly ingressPort: number; readonly adminPort: number },
): string => (ingressPort === 8080 ? '' : `ingress: '${ingress}', `) + (adminPort === 9070 ? '' : `admin: '${admin}', `)

/** An invocation that has not ended. Columns that are NULL are missing. */
interface Open {
  readonly id: string
  readonly service: string
  readonly key?: string
  readonly handler: string
  readonly status: string
  readonly pinned?: string
  readonly attempts?: number
  readonly next?: string
  readonly failure?: string
}

const open = (namespace: string): string => `
  select id, target_service_name as service, target_service_key as key, target_handler_name as handler, status, pinned_deployment_id as pinned,
    retry_count as attempts, next_retry_at as next, last_failure as failure
  from sys_invocation
  where starts_with(target_service_name, '${namespace}.') and status <> 'completed'
  order by created_at limit 1000`

/** Prints whether a server answers, which workers are registered, and which calls are stuck. */
export async function restateStatus(
  { terminal }: CommandContext,
  options: { readonly ingress: string; readonly admin: string; readonly namespace: string; readonly json?: boolean },
): Promise<Exit> {
  const { ingress, admin, namespace, json = false } = options
  const token = process.env['RESTATE_AUTH_TOKEN']
  const client = new RestateClient({
    ingress,
    admin,
    ...(token === undefined ? {} : { ingressToken: token, adminToken: token }),
  })
  const { version } = await client.check()
  const isOurs = (service: string): boolean => service.startsWith(`${namespace}.`)
  const deployments = (await client.deployments()).filter(({ services }) => services.some(isOurs))
  const current = new Set(
    (await client.services()).filter(({ name }) => isOurs(name)).map(({ deployment }) => deployment),
  )
  const invocations = await client.query<Open>(open(namespace))
  const troubled = invocations.filter(({ status }) => status === 'backing-off' || status === 'paused')
  if (json) {
    terminal.line(JSON.stringify({ version, ingress: client.ingress, admin: client.admin, deployments, invocations }))
    return exits.done
  }
  terminal.line(`Restate ${version} is running at ${client.ingress} (admin ${client.admin}).`)
  terminal.line()
  if (deployments.length === 0) terminal.line(`No worker is registered under the namespace "${namespace}".`)
  else terminal.line('Workers:')
  for (const each of deployments) terminal.line(`  ${workerLine(each, current.has(each.id), invocations)}`)
  terminal.line()
  terminal.line(`Open invocations: ${invocations.length === 0 ? 'none' : counted(invocations)}`)
  for (const each of troubled) {
    terminal.line(
      `  ${terminal.style('yellow', each.status.padEnd(11))}  ${each.service}/${each.key ?? ''}/${each.handler}  ${why(each)}`,
    )
  }
  return exits.done
}

function workerLine({ id, uri, createdAt }: Deployment, isCurrent: boolean, invocations: readonly Open[]): string {
  const pinned = invocations.filter((each) => each.pinned === id).length
  return `${uri}  ${id}  since ${createdAt.slice(0, 19)}Z  ${isCurrent ? 'new work goes here' : 'older'}, ${pinned} open`
}

function counted(invocations: readonly Open[]): string {
  const counts = new Map<string, number>()
  for (const { status } of invocations) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, n]) => `${n}${invocations.length === 1000 ? '+' : ''} ${status}`).join(', ')
}

/** Why an invocation is stuck, on one line. */
function why({ attempts, next, failure, status, id }: Open): string {
  const tries = attempts === undefined ? '' : `after ${attempts} attempts`
  const again = status === 'backing-off' && next !== undefined ? `next at ${next.slice(11, 19)}Z` : ''
  const said =
    failure?.split('\n')[0] ?? (status === 'paused' ? 'its attempts are used up, or an operator has paused it' : '')
  return [tries, again, said, `(${id})`]
    .filter((part) => part !== '')
    .join(', ')
    .replace(', (', ' (')
}
