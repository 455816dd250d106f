/**
 * `reeve demo`: a supervised team surveys the user's folder and writes REPORT.md after an approval. It needs no model,
 * no key and no network.
 *
 * Owns: the checks before the run, the store in `.reeve/`, the output. Does not own: the team (packages/demo/src). A bad
 * argument creates no files.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { newId, ReeveError, runId, shellWord } from '@reeve/core'
import {
  demoAgents,
  demoFolder,
  leaderName,
  reportPath,
  settingsInput,
  settingsOf,
  type DemoSettings,
} from '@reeve/demo'
import { createRuntime, type Run, type Runtime } from '@reeve/runtime'
import { shownStore, type CommandContext } from '../context.ts'
import { usage, type Exit } from '../exit.ts'
import { makePrivateFolder } from '../private-files.ts'
import { orderlyEnd } from '../orderly-end.ts'
import { isPostgres, refuseLinks, storeAt, storeBelow } from '../store.ts'
import { watchRun } from '../watch.ts'

/** The options of `reeve demo`. */
export interface DemoOptions {
  readonly yes?: boolean
  readonly json?: boolean
  readonly model?: string
  readonly run?: string
}

/** Surveys a folder. */
export async function demo(
  context: CommandContext,
  given: string,
  { yes = false, json = false, model, run: id }: DemoOptions,
): Promise<Exit> {
  const { terminal, cwd, options, interrupted } = context
  const folder = demoFolder(given, cwd)
  const settings: DemoSettings = {
    folder,
    run: runId(id ?? newId('run')),
    at: new Date().toISOString(),
    ...(model === undefined ? {} : { model }),
  }
  const agents = demoAgents(settings)
  const store = options.store === undefined ? ownStore(folder) : storeAt(options.store, cwd)
  await using runtime = await createRuntime({ store, agents, onMissingVersion: 'park' })
  await using _end = orderlyEnd(runtime, context)
  const run = await startOrFind(runtime, settings)
  const shown = isPostgres(store) ? shownStore(store) : relative(cwd, store) || store
  const where = store === storeBelow(cwd) ? '' : ` --store ${shellWord(shown)}`
  if (!json) {
    terminal.line(`${terminal.style('bold', 'reeve demo')}  ${folder}`)
    terminal.line(`leader: ${model ?? 'rules (no model)'}    run: ${run.id}`)
    if (existsSync(reportPath(folder))) terminal.line('REPORT.md exists; approving replaces it.')
    terminal.line()
  }
  return await watchRun(run, { terminal, json, yes, where, interrupted })
}

/** The demo's store: in the folder, excluded from version control. */
function ownStore(folder: string): string {
  const store = storeBelow(folder)
  refuseLinks(store)
  const ignore = join(dirname(store), '.gitignore')
  makePrivateFolder(dirname(store))
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { flag: 'wx' })
  return store
}

/** Starts the run, or returns the run of that id if its settings are the same. */
async function startOrFind(runtime: Runtime, settings: DemoSettings): Promise<Run> {
  const known = await knownSettings(runtime, settings.run)
  if (known === undefined) return runtime.start(leaderName, settingsInput(settings), { runId: settings.run })
  if (known.folder !== settings.folder || known.model !== settings.model)
    throw usage(`the run ${settings.run} exists with another folder or model`, 'Use a new run id.')
  return runtime.handle(settings.run)
}

async function knownSettings(runtime: Runtime, run: string): Promise<DemoSettings | undefined> {
  try {
    const known = settingsOf(await runtime.handle(run).view())
    if (known === undefined) throw usage(`the run ${run} is not a run of the demo`, 'Use a new run id.')
    return known
  } catch (error) {
    if (ReeveError.is(error, 'run.unknown')) return undefined
    throw error
  }
}
