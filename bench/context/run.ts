/**
 * What models are sent by a team of ten delegations, in Reeve and in its peers: `npm run bench:context`, or
 * `npm run bench:context -- ai-sdk` for some. In each the same leader delegates to the same workers, each with the same
 * tool; the model is the same, over HTTP. Prints a table. `--in`: a folder whose installed packages are used again.
 *
 * Owns: the order of the frameworks, the table, `plainest.json`, which the test of our own part reads. Does not own: how
 * a team is built (reeve.ts, programs/), what is counted (sent.ts), what the model says (script.ts).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { frameworks, type Framework } from '../killed/frameworks.ts'
import { install, versionOf } from '../killed/install.ts'
import { startModel, type Asked } from '../killed/model.ts'
import { tenDelegations } from './caching.ts'
import { requestsOfReeve } from './reeve.ts'
import { answerOf, delegations } from './script.ts'
import { sentIn, type Sent } from './sent.ts'
import { workers } from './texts.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { in: { type: 'string' } } })
const compared = ['ai-sdk', 'openai-agents', 'mastra']
const peers = frameworks.filter(
  ({ folder }) => compared.includes(folder) && (positionals.length === 0 || positionals.includes(folder)),
)
const unknown = positionals.filter((name) => !compared.includes(name))
if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; known: ${compared.join(', ')}`)

/** All that the models of a peer's program are sent. */
async function requestsOf({ folder, name }: Framework, root: string): Promise<readonly Asked[]> {
  const requests: Asked[] = []
  const model = await startModel(answerOf, (asked) => void requests.push(asked))
  try {
    const child = spawn(process.execPath, ['--no-warnings', 'team.mjs'], {
      cwd: join(root, folder),
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'no-key',
        OPENAI_AGENTS_DISABLE_TRACING: '1',
        MASTRA_TELEMETRY_DISABLED: '1',
      },
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0 || !output.includes('ends The answer')) throw new Error(`${name} ended with ${code}: ${output}`)
    return requests
  } finally {
    model.stop()
  }
}

const root = values.in ?? mkdtempSync(join(tmpdir(), 'reeve-context-'))
mkdirSync(root, { recursive: true })
cpSync(join(import.meta.dirname, 'texts.ts'), join(root, 'texts.ts'))
const rows: { readonly title: string; readonly sent: Sent }[] = []
for (const peer of peers) {
  await install(peer, join(import.meta.dirname, 'programs', peer.folder), join(root, peer.folder))
  rows.push({ title: `${peer.name} ${versionOf(peer)}`, sent: sentIn(await requestsOf(peer, root)) })
}
if (values.in === undefined) rmSync(root, { recursive: true, force: true })

const least = (what: 'characters' | 'notCacheable'): number => Math.min(...rows.map(({ sent }) => sent[what]))
const plainest = { characters: least('characters'), notCacheable: least('notCacheable') }
if (positionals.length === 0) {
  const path = join(import.meta.dirname, 'plainest.json')
  writeFileSync(
    path,
    `${JSON.stringify({ ...plainest, of: rows.map(({ title }) => title).join(', ') }, undefined, 2)}\n`,
  )
}
rows.unshift({ title: `Reeve ${manifest.version}`, sent: sentIn(await requestsOfReeve()) })

const number = (count: number): string => count.toLocaleString('en-US')
const beside = (what: 'characters' | 'notCacheable', count: number): string => (count / plainest[what]).toFixed(2)
console.log('| | requests | characters | × the plainest | of which the leader | not cacheable | × the least |')
console.log('|---|---:|---:|---:|---:|---:|---:|')
for (const { title, sent } of rows) {
  const { requests, characters, notCacheable, leader } = sent
  const cells = [
    title,
    number(requests),
    number(characters),
    beside('characters', characters),
    number(leader),
    number(notCacheable),
    beside('notCacheable', notCacheable),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
console.log(
  `\nA leader, ${workers.length} workers, ${delegations} delegations one after the other; each worker uses a tool once. Characters: tools and messages of all requests, as JSON.`,
)
console.log('Not cacheable: of each request, what follows the longest beginning that an earlier request has too.')

console.log(
  '\nThe setting cache, on a server that caches as Claude does (claude-sonnet-5-5, instructions of 6,000 characters):\n',
)
console.log('| cache | input tokens | read from the cache | written to it | US dollars | × without |')
console.log('|---|---:|---:|---:|---:|---:|')
let without: number | undefined
for (const cache of [false, true, '1h'] as const) {
  const { usage } = await tenDelegations('anthropic', { cache }, 'claude-sonnet-5-5')
  without ??= usage.usd
  const counts = [usage.input, usage.cached, usage.cacheWrite ?? 0].map(number)
  console.log(
    `| \`${cache}\` | ${counts.join(' | ')} | ${usage.usd.toFixed(4)} | ${(usage.usd / without).toFixed(2)} |`,
  )
}
