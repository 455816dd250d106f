/**
 * Settings of a demo run: its folder, start time and model. They are the input of the run, so any process can resume
 * it.
 *
 * Owns: the settings, reading them back from a run, the checks of a folder. Does not own: the team (team.ts).
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ReeveError, type Json } from '@reeve/public'
import type { RunView } from '@reeve/public/views'

/** The input of a demo run. */
export interface DemoSettings {
  /** An absolute path. */
  readonly folder: string
  /** The id of the run, for the report. */
  readonly run: string
  /** The start time (ISO 8601), up to which ages are counted. */
  readonly at: string
  /** The model that leads; absent: rules. */
  readonly model?: string
}

/** The path of the report. */
export const reportPath = (folder: string): string => join(folder, 'REPORT.md')

/** The settings as the input of a run. */
export const settingsInput = (settings: DemoSettings): Json => ({ ...settings })

/** The settings of a run; undefined if it is not a run of the demo. */
export function settingsOf({ input }: Pick<RunView, 'input'>): DemoSettings | undefined {
  const brief = isObject(input) ? input['brief'] : undefined
  const given = isObject(brief) ? brief['input'] : undefined
  return isSettings(given) ? given : undefined
}

/** True for the settings of a demo run. */
export function isSettings(given: unknown): given is DemoSettings & Json {
  if (!isObject(given)) return false
  const { folder, run, at, model } = given
  return (
    typeof folder === 'string' &&
    typeof run === 'string' &&
    typeof at === 'string' &&
    (model === undefined || typeof model === 'string')
  )
}

/** A JSON object, as opposed to a list, a text or nothing. */
export const isObject = (value: unknown): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The absolute path of the folder to survey. Creates no files. Throws `input.invalid` if it cannot be read, or the
 * report cannot be written to it.
 */
export function demoFolder(given: string, cwd: string): string {
  const folder = resolve(cwd, given)
  if (!existsSync(folder)) throw refused(`folder not found: ${folder}`, 'Check the path.')
  if (!statSync(folder).isDirectory())
    throw refused(`${folder} is a file, not a folder`, 'Name the folder that holds it.')
  if (!may(folder, constants.R_OK | constants.X_OK))
    throw refused(`the folder ${folder} cannot be read`, 'Check its permissions.')
  if (!may(folder, constants.W_OK))
    throw refused(
      `the folder ${folder} cannot be written to`,
      'The demo keeps its store in .reeve/ there and writes REPORT.md after your approval.',
    )
  if (statSync(reportPath(folder), { throwIfNoEntry: false })?.isFile() === false)
    throw refused(`${reportPath(folder)} is not a file`, 'Move it: the demo writes its report there.')
  return folder
}

const refused = (message: string, hint: string): ReeveError => new ReeveError('input.invalid', message, { hint })

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
