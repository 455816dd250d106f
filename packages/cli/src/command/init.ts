/**
 * `reeve init`: writes a small team with its tests into a folder, from a template of this package.
 *
 * Owns: the questions, the checks before anything is written, the output. Does not own: what a project consists of
 * (project.ts). Uses no network; overwrites nothing. Without a terminal nothing is asked: the first of each list is taken.
 */
import { existsSync, lstatSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { messageOf, ReeveError, shellWord, visible } from '@reeve/core'
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import {
  installedFrom,
  isProvider,
  isTemplate,
  packageName,
  projectFiles,
  providerOf,
  providers,
  templates,
} from '../project.ts'

/** The options of `reeve init`. */
export interface InitOptions {
  readonly template?: string
  /** The provider of the project's model. */
  readonly model?: string
}

/** The folder that is proposed where none was named. */
const usualFolder = 'my-team'

/** Writes a project. */
export async function init(context: CommandContext, named: string | undefined, options: InitOptions): Promise<Exit> {
  const { terminal, cwd } = context
  if (options.template !== undefined) mustBeOneOf('template', templates, isTemplate, options.template)
  if (options.model !== undefined) mustBeOneOf('provider', providers, isProvider, options.model)
  const answers = await chosen(context, named, options)
  if (answers === undefined) {
    terminal.note('\nNothing was written.')
    return exits.interrupted
  }
  const { folder, template, provider } = answers
  const files = projectFiles(packageName(basename(folder)), template, provider)
  if (isThere(folder) && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`${visible(folder)} is not a folder`, 'Nothing was written. Name a new folder.')
  const inTheWay = [...files.keys()].filter((file) => isThere(join(folder, file)))
  if (inTheWay.length > 0)
    throw usage(
      `${inTheWay.join(', ')} ${inTheWay.length === 1 ? 'is' : 'are'} in ${visible(folder)} already`,
      `Nothing was written. Name a new folder: ${reeve} init ${usualFolder} --template ${template}`,
    )
  try {
    mkdirSync(folder, { recursive: true })
    for (const [file, text] of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text, { flag: 'wx' })
    }
  } catch (thrown) {
    throw new ReeveError('cli.usage', `${visible(folder)} could not be written to: ${messageOf(thrown)}`, {
      hint: 'Check the folder and its permissions.',
      cause: thrown,
    })
  }
  const place = relative(cwd, folder)
  terminal.line(`${terminal.style('green', '✓')} ${template}: ${templates[template].about}`)
  for (const file of files.keys()) terminal.line(`  ${terminal.style('dim', join(place, file))}`)
  terminal.line('Next:')
  if (place !== '') terminal.line(`  cd ${shellWord(place)}`)
  const from = installedFrom()
  terminal.line(`  npm install${from !== undefined && 'file' in from ? ` ${shellWord(from.file)}` : ''}`)
  terminal.line('  npm test         without a key')
  const studio = templates[template].start === 'next' ? '' : ', with the studio'
  terminal.line(`  npm run dev      run it${studio}`)
  const { key } = providerOf(provider)
  terminal.line(
    key === undefined
      ? 'Rules decide. For a model, add its package and its key to model.ts.'
      : `Rules decide until ${key} is set.`,
  )
  if (from === undefined)
    terminal.note(
      'If npm install answers E404 for reeve, pack this checkout (npm ci && npm pack) and give npm install the file.',
    )
  return exits.done
}

/** What was named, and what the terminal answers to the rest. Undefined: it was left by Ctrl-C or Ctrl-D. */
async function chosen(context: CommandContext, named: string | undefined, options: InitOptions) {
  try {
    const given = named ?? (context.terminal.canAsk ? await answerTo(context, `Which folder? (${usualFolder}) `) : '.')
    const folder = folderOf(given ?? usualFolder, context.cwd)
    const template = await choice(context, 'template', templates, isTemplate, options.template)
    const provider = await choice(context, 'provider', providers, isProvider, options.model)
    return { folder, template, provider }
  } catch (thrown) {
    if (context.interrupted.aborted || (thrown instanceof Error && thrown.name === 'AbortError')) return undefined
    throw thrown
  }
}

/** The folder of a name. Throws `cli.usage` for a name that no file system or shell takes well. */
function folderOf(given: string, cwd: string): string {
  const why =
    given.trim() === ''
      ? 'is empty'
      : visible(given) !== given
        ? 'has control characters'
        : basename(given).length > 200
          ? 'is longer than 200 characters'
          : given.startsWith('-')
            ? 'begins with "-"'
            : resolve(cwd, given).split(/[\\/]/).includes('node_modules')
              ? 'is inside node_modules'
              : undefined
  if (why === undefined) return resolve(cwd, given)
  throw usage(
    `the folder "${visible(given.slice(0, 80))}" ${why}`,
    `Nothing was written. For example: ${reeve} init ${usualFolder}`,
  )
}

/** Also a link that leads nowhere is in the way. */
const isThere = (path: string): boolean => existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined

type Choices = Readonly<Record<string, { readonly about: string }>>

function mustBeOneOf<N extends string>(
  what: string,
  choices: Choices,
  isOne: (name: string) => name is N,
  name: string,
): N {
  if (isOne(name)) return name
  throw usage(
    `no ${what} is called "${visible(name)}"`,
    `Nothing was written. One of: ${Object.keys(choices).join(', ')}.`,
  )
}

/** The choice that was named, or that the terminal answers; else the first one. */
async function choice<N extends string>(
  context: CommandContext,
  what: string,
  choices: Choices,
  isOne: (name: string) => name is N,
  named: string | undefined,
): Promise<N> {
  const names = Object.keys(choices)
  if (named !== undefined) return mustBeOneOf(what, choices, isOne, named)
  const { terminal } = context
  if (terminal.canAsk)
    for (const [i, [name, { about }]] of Object.entries(choices).entries())
      terminal.line(`  ${i + 1}  ${terminal.style('bold', name.padEnd(10))} ${about}`)
  const answer = await answerTo(context, `Which ${what}? (1 to ${names.length}, or its name; ${names[0]}) `)
  return mustBeOneOf(what, choices, isOne, answer === undefined ? names[0]! : (names[indexIn(answer)] ?? answer))
}

const indexIn = (answer: string): number => (/^[1-9]$/.test(answer) ? Number(answer) - 1 : -1)

/** What the terminal answers; undefined: nothing, or there is no one to ask. */
async function answerTo({ terminal, interrupted }: CommandContext, question: string): Promise<string | undefined> {
  const answer = terminal.canAsk ? (await terminal.ask(question, interrupted)).trim() : ''
  return answer === '' ? undefined : answer
}
