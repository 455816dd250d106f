/**
 * Project: the files that `reeve init` writes, as data.
 *
 * Owns: the templates and their names, the providers that a project may have, what every project has besides
 * (package.json, tsconfig.json, .gitignore). Does not own: writing (command/init.ts), the code of the templates
 * (templates/, which is checked and tested as it is).
 * Holds: exact versions: those that this Reeve was tested with. A project has the package of the chosen provider alone.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A template. */
interface Template {
  /** What it is, in a line. */
  readonly about: string
  /** What its `npm start` runs. */
  readonly start: 'serve' | 'program' | 'next'
  /** The packages that it needs beside those of every project. */
  readonly packages?: readonly string[]
  /** Those that only its tests and its types need. */
  readonly devPackages?: readonly string[]
}

/** The templates, by name; the first one is the default. */
export const templates = {
  chat: { about: 'an assistant with a conversation, behind HTTP and useChat', start: 'serve' },
  approvals: { about: 'refunds behind HTTP that a person approves', start: 'serve' },
  research: { about: 'a lead with three researchers who work at the same time', start: 'program' },
  planned: { about: 'a team that plans: tasks in parallel, one report', start: 'program' },
  service: {
    about: 'a support team behind HTTP, to deploy: PostgreSQL, Dockerfile, Compose',
    start: 'serve',
    packages: ['pg'],
    devPackages: ['@types/pg'],
  },
  'next-chat': {
    about: 'a chat in Next.js: useChat, and approvals of a worker in the page',
    start: 'next',
    packages: ['@ai-sdk/react', 'ai', 'next', 'react', 'react-dom'],
    devPackages: ['@types/react', '@types/react-dom'],
  },
} as const satisfies Readonly<Record<string, Template>>

/** The name of a template. */
export type TemplateName = keyof typeof templates

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(templates, name)

/** Where the model of a project comes from. */
interface Provider {
  readonly about: string
  /** The name of the key in the environment. Absent: rules decide. */
  readonly key?: string
  readonly model?: string
  readonly package?: string
}

/** The providers that a project may have, by name; the first one is the default. */
export const providers = {
  none: { about: 'rules that are written in the project: no key, no network' },
  openai: { about: 'OpenAI', key: 'OPENAI_API_KEY', model: 'openai/gpt-5-mini', package: '@ai-sdk/openai' },
  anthropic: {
    about: 'Anthropic',
    key: 'ANTHROPIC_API_KEY',
    model: 'anthropic/claude-sonnet-5-5',
    package: '@ai-sdk/anthropic',
  },
} as const satisfies Readonly<Record<string, Provider>>

/** The name of a provider. */
export type ProviderName = keyof typeof providers

/** A provider. */
export const providerOf = (name: ProviderName): Provider => providers[name]

export const isProvider = (name: string): name is ProviderName => Object.hasOwn(providers, name)

const root = fileURLToPath(new URL('../../..', import.meta.url))

interface OwnManifest {
  readonly version: string
  readonly engines: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The scripts of a project, by how it is started. That of `serve` has a port and a token that `ask.ts` knows. */
const scripts: Readonly<Record<Template['start'], Readonly<Record<string, string>>>> = {
  serve: {
    dev: 'reeve dev --token-file .token',
    start: 'reeve serve --port 4040 --token-file .token',
    ask: 'node ask.ts',
  },
  program: { dev: 'reeve dev --token-file .token', start: 'node start.ts' },
  next: { dev: 'next dev', build: 'next build', start: 'next start' },
}

/** Packages that Reeve's own tests do not use, with the versions that the template was tried with. */
const ofTemplates: Readonly<Record<string, string>> = { '@ai-sdk/react': '4.0.177', next: '16.4.6' }

function manifestOf(name: string, template: TemplateName, provider: ProviderName): object {
  const {
    version,
    engines,
    devDependencies: tested,
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as OwnManifest
  const versions = (packages: readonly string[]): Record<string, string> =>
    Object.fromEntries(packages.toSorted().map((each) => [each, tested[each] ?? ofTemplates[each]!]))
  const { start, packages = [], devPackages = [] }: Template = templates[template]
  const ofProvider = providerOf(provider)
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines,
    scripts: { ...scripts[start], test: 'node --test', check: 'tsc' },
    dependencies: {
      ...versions([...(ofProvider.package === undefined ? [] : [ofProvider.package]), ...packages]),
      reeve: version,
      ...versions(['zod']),
    },
    devDependencies: versions(['@types/node', 'typescript', ...devPackages]),
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

/** The table of models in `model.ts` of each template. */
const modelTable = /^(const models\b[^=]*= )\{[^}]*\}/m

/** `model.ts` with the models of the chosen provider alone. */
function modelFile(text: string, provider: ProviderName): string {
  const { key, model } = providerOf(provider)
  const entry = key === undefined ? '{}' : `{ ${key}: '${model}' }`
  return text.replace(modelTable, (_table, declared: string) => `${declared}${entry}`)
}

/** The files of a new project, by path. `name`: of its package. */
export function projectFiles(
  name: string,
  template: TemplateName,
  provider: ProviderName,
): ReadonlyMap<string, string> {
  const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
  const folder = join(root, 'templates', template)
  return new Map([
    ['package.json', json(manifestOf(name, template, provider))],
    ['tsconfig.json', json({ compilerOptions, include: ['*.ts'] })],
    ['.gitignore', 'node_modules/\n.env\n.next/\n.reeve/\n.token\nreeve.db*\n'],
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => relative(folder, join(each.parentPath, each.name)))
      .toSorted()
      .map((file) => {
        const text = readFileSync(join(folder, file), 'utf8')
        return [file, file === 'model.ts' ? modelFile(text, provider) : text] as const
      }),
  ])
}

/** A name that npm takes, made of that of the folder. npm installs no package into one of the same name. */
export function packageName(folder: string): string {
  const name =
    folder
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 100) || 'team'
  return ['reeve', 'zod', 'pg', 'typescript', 'node-modules'].includes(name) ? `${name}-team` : name
}

/**
 * Where npm has this Reeve from, as it notes in the folder of what it has installed: the path of a packed file, or the
 * address at a registry. Undefined for a checkout.
 */
export function installedFrom(
  installedAt: string = root,
): { readonly file: string } | { readonly url: string } | undefined {
  const modules = join(installedAt, '..')
  try {
    const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
      readonly packages?: Readonly<Record<string, { readonly resolved?: unknown }>>
    }
    const resolved = packages?.['node_modules/reeve']?.resolved
    if (typeof resolved !== 'string') return undefined
    const file = resolved.startsWith('file:') ? resolve(modules, '..', resolved.slice('file:'.length)) : undefined
    return file === undefined ? { url: resolved } : { file }
  } catch {
    return undefined
  }
}
