/**
 * Project: the files that `reeve init` writes, as data.
 *
 * Owns: the templates and their names, what every project has besides (package.json, tsconfig.json, .gitignore). Does
 * not own: writing (command/init.ts), the code of the templates (templates/, which is checked and tested as it is).
 * Holds: exact versions: those that this Reeve was tested with.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The templates: what each is, what its `npm start` runs, and a script of its own. */
export const templates = {
  chat: { about: 'an assistant with a conversation, behind HTTP and useChat', start: 'serve' },
  approvals: { about: 'refunds behind HTTP that a person approves', start: 'serve' },
  research: { about: 'a lead with three researchers who work at the same time', start: 'program' },
  planned: { about: 'a team that plans: tasks in parallel, one report', start: 'program' },
  'next-chat': { about: 'a chat in Next.js: useChat, and approvals of a worker in the page', start: 'next' },
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

/** The scripts of a project, by how it is started. That of `serve` has a port and a token that `ask.ts` knows. */
const scripts = {
  serve: {
    dev: 'reeve dev --token-file .token',
    start: 'reeve serve --port 4040 --token-file .token',
    ask: 'node ask.ts',
  },
  program: { dev: 'reeve dev --token-file .token', start: 'node start.ts' },
  next: { dev: 'next dev', build: 'next build', start: 'next start' },
} as const

/** Packages of a project in Next.js that Reeve's own tests do not use, with the versions that the template was tried with. */
const ofNext = { '@ai-sdk/react': '4.0.177', next: '16.4.6' }

function manifestOf(name: string, template: TemplateName): object {
  const {
    version,
    engines,
    devDependencies: tested,
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as OwnManifest
  const versions = (...packages: readonly string[]): Record<string, string> =>
    Object.fromEntries(packages.map((each) => [each, tested[each]!]))
  const { start } = templates[template]
  const isNext = start === 'next'
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines,
    scripts: { ...scripts[start], test: 'node --test', check: 'tsc' },
    dependencies: {
      reeve: version,
      ...versions('@ai-sdk/anthropic', '@ai-sdk/openai', 'zod'),
      ...(isNext && { ...versions('ai', 'react', 'react-dom'), ...ofNext }),
    },
    devDependencies: {
      ...versions('@types/node', 'typescript'),
      ...(isNext && versions('@types/react', '@types/react-dom')),
    },
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
    ['.gitignore', 'node_modules/\n.next/\n.reeve/\n.token\nreeve.db*\n'],
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => relative(folder, join(each.parentPath, each.name)))
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
