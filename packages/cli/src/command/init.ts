/**
 * `reeve init`: writes a small team with its tests into a folder, from a template of this package.
 *
 * Owns: the choice of a template, the checks before anything is written, the output. Does not own: what a project
 * consists of (project.ts). Uses no network; overwrites nothing.
 */
import { existsSync, lstatSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { messageOf, ReeveError, shellWord, visible } from '@reeve/core'
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { reeve } from '../invocation.ts'
import { isTemplate, packageName, projectFiles, templates, type TemplateName } from '../project.ts'

const names = Object.keys(templates)
const list = names.join(', ')

/** Writes a project. */
export async function init(
  { terminal, cwd, interrupted }: CommandContext,
  given: string,
  { template: named }: { readonly template?: string },
): Promise<Exit> {
  const folder = resolve(cwd, given)
  const template = named === undefined ? await chosen({ terminal, interrupted }) : known(named)
  const files = projectFiles(packageName(basename(folder)), template)
  if (isThere(folder) && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`${visible(folder)} is not a folder`, 'Nothing was written. Name a new folder.')
  const inTheWay = [...files.keys()].filter((file) => isThere(join(folder, file)))
  if (inTheWay.length > 0)
    throw usage(
      `${inTheWay.join(', ')} ${inTheWay.length === 1 ? 'is' : 'are'} in ${visible(folder)} already`,
      `Nothing was written. Name a new folder: ${reeve} init my-team --template ${template}`,
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
  terminal.line('  npm install')
  terminal.line('  npm test         without a key')
  const studio = templates[template].start === 'next' ? '' : ', with the studio'
  terminal.line(`  npm run dev      run it${studio}`)
  return exits.done
}

/** Also a link that leads nowhere is in the way. */
const isThere = (path: string): boolean => existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined

function known(name: string): TemplateName {
  if (isTemplate(name)) return name
  throw usage(`no template is called "${visible(name)}"`, `Templates: ${list}.`)
}

async function chosen({
  terminal,
  interrupted,
}: Pick<CommandContext, 'terminal' | 'interrupted'>): Promise<TemplateName> {
  if (!terminal.canAsk) throw usage('no template was named', `Name one: --template ${names.join('|')}`)
  for (const [i, [name, { about }]] of Object.entries(templates).entries())
    terminal.line(`  ${i + 1}  ${terminal.style('bold', name.padEnd(10))} ${about}`)
  const answer = (await terminal.ask(`Which template? (1 to ${names.length}, or its name) `, interrupted)).trim()
  return known(/^[1-9]$/.test(answer) ? (names[Number(answer) - 1] ?? answer) : answer)
}
