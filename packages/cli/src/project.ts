/**
 * Project: the files that `reeve init` writes, as data.
 *
 * Owns: the templates and their names, what every project has besides (package.json, tsconfig.json, .gitignore). Does
 * not own: writing (command/init.ts), the code of the templates (templates/, which is checked and tested as it is).
 * Holds: exact versions: those that this Reeve was tested with.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The templates: what each is, what its `npm start` runs, and a script of its own. */
export const templates = {
  chat: { about: 'an assistant with a conversation, behind HTTP and useChat', start: 'serve' },
  approvals: { about: 'refunds behind HTTP that a person approves', start: 'serve' },
  research: { about: 'a lead with three researchers who work at the same time', start: 'program' },
  planned: { about: 'a team that plans: tasks in parallel, one report', start: 'program' },
} as const

/** The name of a template. */
export type TemplateName = keyof typeof templates

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(templates, name)

const root = fileURLToPath(new URL('../../..', import.meta.url))

interface OwnManifest {
  readonly version: string
  readonly engines: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** A script that serves: a port and a token that `ask.ts` knows. */
const served = { serve: 'reeve serve --port 4040 --token-file .token', ask: 'node ask.ts' }

function manifestOf(name: string, template: TemplateName): object {
  const {
    version,
    engines,
    devDependencies: tested,
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as OwnManifest
  const versions = (...packages: readonly string[]): Record<string, string> =>
    Object.fromEntries(packages.map((each) => [each, tested[each]!]))
  const { start } = templates[template]
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines,
    scripts: {
      dev: 'reeve dev --token-file .token',
      start: start === 'serve' ? served.serve : 'node start.ts',
      ...(start === 'serve' ? { ask: served.ask } : {}),
      test: 'node --test',
      check: 'tsc',
    },
    dependencies: { reeve: version, ...versions('@ai-sdk/anthropic', '@ai-sdk/openai', 'zod') },
    devDependencies: versions('@types/node', 'typescript'),
  }
}

const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  types: ['node'],
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
}

/** The files of a new project, by path. `name`: of its package. */
export function projectFiles(name: string, template: TemplateName): ReadonlyMap<string, string> {
  const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
  const folder = join(root, 'templates', template)
  return new Map([
    ['package.json', json(manifestOf(name, template))],
    ['tsconfig.json', json({ compilerOptions, include: ['*.ts'] })],
    ['.gitignore', 'node_modules/\n.reeve/\n.token\nreeve.db*\n'],
    ...readdirSync(folder)
      .toSorted()
      .map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const),
  ])
}

/** A name that npm takes, made of that of the folder. */
export const packageName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100) || 'team'
