/**
 * Which source files a brief, an approval that is raised two levels down, and a cancel cross: `node --no-warnings
 * scripts/crossings.ts [folder of another checkout]`. A chief leads a lead, who leads a writer with a tool that needs
 * an approval; V8 counts the functions that are called in each part of the run.
 *
 * Owns: that run, the count. Does not own: the trees in docs/explanation/architecture.md, which are drawn by hand; with `--check`
 * every file that they name must be one that is crossed.
 */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join, posix, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type * as reeve from 'reeve'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false }, files: { type: 'boolean', default: false } },
})
const root = resolve(positionals[0] ?? dirOfThis())
const page = join(dirOfThis(), 'docs/explanation/architecture.md')

type Functions = ReadonlyMap<string, number>

const profiler = new Session()
profiler.connect()
await profiler.post('Profiler.enable')

const crossed = await crossings()
if (values.check) {
  const trees = /<!-- trees -->([\s\S]*?)<!-- \/trees -->/.exec(readFileSync(page, 'utf8'))?.[1] ?? ''
  const strangers = [...trees.matchAll(/### ([^\n]*)\n+```text\n([\s\S]*?)```/g)].flatMap(([, title, tree]) => {
    const files = Object.entries(crossed).find(([part]) => title?.toLowerCase().includes(part))?.[1]
    if (files === undefined) return [`no part of the run is called "${title}"`]
    const named = [...tree!.matchAll(/[a-z-]+(?:\/[a-z-]+)+\.ts/g)].map(([file]) => file)
    return named.filter((file) => !files.has(file)).map((file) => `${title}: ${file} is not crossed`)
  })
  if (!trees.includes('```text')) strangers.push('docs/explanation/architecture.md has no trees')
  for (const stranger of strangers) process.stderr.write(`crossings: ${stranger}\n`)
  if (strangers.length > 0) process.exitCode = 1
}
for (const [part, files] of Object.entries(crossed)) {
  const rooms = Map.groupBy(files.keys(), (file) => posix.dirname(file).split('/')[0]!)
  const functions = [...files.values()].reduce((sum, count) => sum + count, 0)
  const perRoom = [...rooms].map(([room, inIt]) => `${room} ${inIt.length}`).join(', ')
  process.stdout.write(`${part}: ${files.size} files, ${functions} functions (${perRoom})\n`)
  if (values.files)
    for (const [file, count] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
      process.stdout.write(`  ${file} ${count}\n`)
}

async function crossings(): Promise<Readonly<Record<'brief' | 'approval' | 'cancel', Functions>>> {
  const { agent, createRuntime, supervisor, tool } = (await import(
    pathToFileURL(join(root, 'packages/public/src/index.ts')).href
  )) as typeof reeve
  const [asked, published] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const publish = tool({
    name: 'publish',
    description: 'Publishes a text.',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    sensitive: true,
    execute: () => 'published',
  })
  const stalled = Promise.withResolvers<string>()
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    tools: [publish],
    model: ({ messages }) => {
      asked.resolve()
      if (messages.at(-1)?.role !== 'tool') return { calls: [{ name: 'publish', input: { text: 'Hello' } }] }
      published.resolve()
      return stalled.promise
    },
  })
  const leads = (
    name: string,
    worker: string,
    workers: readonly ReturnType<typeof agent>[],
  ): ReturnType<typeof agent> =>
    supervisor({
      name,
      description: 'Leads.',
      workers,
      model: () => ({ calls: [{ name: 'delegate', input: { worker, instructions: 'Write a greeting.' } }] }),
    })
  const chief = leads('chief', 'lead', [leads('lead', 'writer', [writer])])
  await using runtime = await createRuntime({ agents: [chief] })

  await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await called()
  const run = await runtime.start(chief, 'Greet the world.')
  await asked.promise
  const brief = await called()
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error('nobody was asked')
  await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve', approver: 'ann' })
  await published.promise
  const approval = await called()
  await cancel(run)
  await run.outcome()
  stalled.resolve('too late')
  const cancelled = await called()
  await profiler.post('Profiler.stopPreciseCoverage')
  return { brief, approval, cancel: cancelled }
}

/** Checkouts from before `run.control` are measured, too. */
async function cancel(run: object): Promise<void> {
  const { control } = run as { readonly control?: unknown }
  const cancelling = (typeof control === 'object' ? control : run) as { cancel(reason: string): Promise<void> }
  await cancelling.cancel('enough')
}

/** How many functions of each file of `packages/` were called since the last time. */
async function called(): Promise<Functions> {
  const { result } = await profiler.post('Profiler.takePreciseCoverage')
  const source = pathToFileURL(join(root, 'packages')).href
  return new Map(
    result
      .filter(({ url }) => url.startsWith(`${source}/`))
      .map(({ url, functions }): [string, number] => [
        url.slice(source.length + 1).replace('/src/', '/'),
        functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0]!.count > 0).length,
      ])
      .filter(([, count]) => count > 0),
  )
}

function dirOfThis(): string {
  return fileURLToPath(new URL('..', import.meta.url))
}
