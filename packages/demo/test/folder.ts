/**
 * A folder whose every finding is known: a small shop with a workspace, a git history with fixed dates, and one of each
 * thing the surveys look for, beside things they must not fall for. Used by the surveys' tests and by the demo's
 * end-to-end test.
 *
 * Strings that look like secrets are put together here, so that this repository holds none.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A file's content, by its path. */
export type Files = Readonly<Record<string, string | Buffer>>

/** Values that must never show up in a finding or a report. */
export const raw = {
  aws: 'AK' + 'IA' + 'Q3EGRZ7KXPL5NWVT',
  github: 'gh' + 'p_' + 'a8Kd02mZpQ7rT4vXy1Bc9Nf3Gh6Jk5Ls0Wq2',
  stripe: 'sk' + '_li' + 've_' + '9dK2mQ7xZ4pT1vR8sW3y',
  npm: 'np' + 'm_' + 'Zx81kLmQ02vBtY7cRd5sNw3eHj9fGp4aUi6o',
  google: 'AI' + 'za' + 'SyB7x9Kd02mZpQ4rT1vXyc8Nf3Gh6Jk5LsW',
  slack: 'xo' + 'xb-' + '2731648590-' + 'q8Kd02mZpQ7rT4vX',
  phrase: 'tr7!vKq9' + 'zPw2',
  setting: 'v9Kd02mZ' + 'pQ7rT4vX',
  keyBody: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' + 'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj',
} as const

const key = ['-----BEGIN ' + 'RSA PRIVATE KEY-----', raw.keyBody, '-----END ' + 'RSA PRIVATE KEY-----', ''].join('\n')

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const text = (...lines: string[]): string => `${lines.join('\n')}\n`

const packages: Files = {
  'package.json': json({
    name: 'shop',
    private: true,
    workspaces: ['packages/*'],
    scripts: { test: 'vitest run', verify: 'npm run -s test' },
    dependencies: { 'left-pad': '^1.3.0', 'gpl-thing': '^2.0.0', mystery: '^1.0.0', ghost: '^9.9.9' },
    devDependencies: { vitest: '^3.0.0' },
    peerDependencies: { react: '*' },
  }),
  'package-lock.json': json({
    name: 'shop',
    lockfileVersion: 3,
    packages: {
      '': { name: 'shop' },
      'node_modules/left-pad': { version: '1.3.0', license: 'WTFPL' },
      'node_modules/gpl-thing': { version: '2.1.0', license: 'GPL-3.0-only' },
      'node_modules/dual': { version: '1.0.0', license: '(MIT OR GPL-3.0-or-later)' },
      'node_modules/lesser': { version: '4.0.0', license: 'MPL-2.0' },
      'node_modules/mystery': { version: '1.0.2' },
      'node_modules/installed': { version: '0.1.0' },
      'node_modules/vitest': { version: '3.2.0', license: 'MIT', dev: true },
      'node_modules/zod': { version: '3.25.0', license: 'MIT' },
      'node_modules/@shop/a': { resolved: 'packages/a', link: true },
      'node_modules/@shop/b': { resolved: 'packages/b', link: true },
      'packages/a': { name: '@shop/a', version: '1.0.0' },
      'packages/b': { name: '@shop/b', version: '1.0.0' },
      'packages/b/node_modules/zod': { version: '4.1.0', license: 'MIT' },
    },
  }),
  'packages/a/package.json': json({
    name: '@shop/a',
    version: '1.0.0',
    dependencies: { '@shop/b': '*', zod: '^3.0.0' },
  }),
  'packages/b/package.json': json({
    name: '@shop/b',
    version: '1.0.0',
    dependencies: { '@shop/a': '*', zod: '^4.0.0' },
  }),
  'node_modules/installed/package.json': json({ name: 'installed', version: '0.1.0', license: 'ISC' }),
  'node_modules/@scope/extra/package.json': json({
    name: '@scope/extra',
    version: '2.0.0',
    licenses: [{ type: 'MIT' }],
  }),
  'node_modules/installed/index.js': `const password = "${raw.phrase}" // TODO: not ours\n`,
}

const pages: Files = {
  'README.md': text(
    '# Shop',
    '',
    '[guide](docs/guide.md), [part](docs/guide.md#getting-started-), [gone](docs/gone.md).',
    '![logo](logo.png "The logo") ![lost](img/lost.png)',
    '',
    '[spaces](<docs/with space.md>) and [encoded](docs/with%20space.md), [folder](docs/), [web](https://example.com/x.md).',
    '[heading](#shop) [no heading](#nowhere) [mail](mailto:a@b.c) [line](src/app.ts#L3) [up](../../issues)',
    '',
    '```md',
    '[not a link](fenced.md)',
    '```',
    '',
    'Inline `[not a link](inline.md)` and \\[not a link](escaped.md).',
    '',
    '    [not a link](indented.md)',
    '',
    '[ref][one] <!-- [not a link](comment.md) -->',
    '',
    '[one]: docs/missing.md "Title"',
    '',
    '[site](/from/the/root.md) [case](docs/Guide.md) <img src="img/none.svg">',
  ),
  'docs/guide.md': text(
    '# Guide',
    '',
    '## Getting *started*!? 🚀',
    '',
    '## Setup',
    '## Setup',
    '',
    '[ok](#setup-1) [bad](#setup-2) [back](../README.md#shop)',
  ),
  'docs/with space.md': text('# Spaces', '', '- TODO: write this page', '', 'A TODO list is not a loose end.'),
}

const sources: Files = {
  'src/app.ts': text(
    "import { b } from '@shop/b'",
    '// TODO: first of 2024',
    "export const words = ['TODO', '// FIXME not a comment']",
    '/*',
    ' * FIXME(ann): second line of a block',
    ' */',
    'export const url = `https://example.com // TODO in a template`',
    'export const TODO_LIST = b',
    '// This parses the TODO marker, which is a mention.',
  ),
  'src/app.test.ts': text("import { test } from 'vitest'", '', "test('adds', () => {})"),
  'scripts/run.py': text('#!/usr/bin/env python3', 'print("# TODO: in a string")', 'x = 1  # HACK: works for now'),
  'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0x00, 0x01]),
  '.github/workflows/ci.yml': text(
    'on: push',
    'jobs:',
    '  check:',
    '    steps:',
    '      - run: npm ci',
    '      - run: npm run verify',
  ),
}

const secretive: Files = {
  'config/live.ts': text(
    `export const aws = '${raw.aws}'`,
    `const github = "${raw.github}" // TODO: rotate ${raw.github}`,
    `export const config = { password: '${raw.phrase}', stripe: '${raw.stripe}' }`,
    `const google = '${raw.google}', slack = '${raw.slack}'`,
    "const password = 'changeme-please-1'",
    'const token = `${process.env.TOKEN}`',
    "const apiKey = '<your-api-key>'",
    "const secret = 'xxxxxxxxxxxxxxxx'",
    "const tokenUrl = 'https://auth.example.com/oauth2/token'",
    'const header = /-----BEGIN PRIVATE KEY-----/',
    "const example = 'AK" + "IAIOSFODNN7EXAMPLE'",
  ),
  'config/server.pem': key,
  '.env': text('# settings', `API_TOKEN=${raw.setting}`, 'PORT=3000', 'EMPTY='),
  '.env.example': text('API_TOKEN=your-token-here'),
  '.npmrc': text(`//registry.example.org/:_authToken=${raw.npm}`),
}

const operations: Files = {
  Dockerfile: text(
    'ARG BASE=node:24',
    'FROM $BASE AS build',
    'RUN apt-get update && \\',
    '    apt-get install -y git',
    'ADD https://example.com/x.txt /x.txt',
    'ADD src /src',
    'ARG NPM_TOKEN',
    'FROM nginx',
    'ENV DB_PASSWORD=not-shown TOKEN_URL=x',
    'COPY --from=build /src /usr/share/nginx/html',
    'RUN apt-get update && apt-get install -y curl && rm -rf /var/lib/apt/lists/*',
  ),
  'db/migrations/001_users.up.sql': text('CREATE TABLE users (id int);'),
  'db/migrations/001_users.down.sql': text('DROP TABLE users;'),
  'db/migrations/002_orders.up.sql': text(
    'CREATE TABLE orders (id int);',
    '-- DROP TABLE in a comment',
    'ALTER TABLE users',
    '  DROP COLUMN age;',
  ),
  'db/migrations/002_again.up.sql': text(
    "INSERT INTO log VALUES ('DROP TABLE users');",
    'CREATE INDEX CONCURRENTLY by_name ON users (name);',
  ),
  'db/migrations/004_gone.up.sql': text('DROP TABLE IF EXISTS "orders";'),
}

/** Written after the last commit: ignored, untracked, changed, and the demo's own report. */
const uncommitted: Files = {
  'ignored/secret.ts': `const password = '${raw.phrase}'\n`,
  'REPORT.md': `# Old report\n\n[broken](nowhere.md)\n\n- TODO: ${raw.aws}\n`,
  'notes.ts': text('// XXX: untracked'),
  'src/app.ts': `${String(sources['src/app.ts'])}// TODO: not committed yet\n`,
}

/** The folder, the time its ages are measured from, and how to get rid of it. */
export interface KnownFolder {
  readonly path: string
  /** 2026-01-01T00:00:00Z in milliseconds. */
  readonly now: number
  remove(): Promise<void>
}

/**
 * Builds the folder in a temporary directory, with a git history of two commits: 2024-01-10 and 2025-06-01, noon UTC.
 */
export async function knownFolder(): Promise<KnownFolder> {
  const made = await plainFolder({ ...packages, ...pages, ...sources, '.gitignore': text('node_modules/', 'ignored/') })
  await symlink('.', join(made.path, 'loop'))
  git(made.path, ['init', '-q'])
  commit(made.path, '2024-01-10T12:00:00Z')
  await write(made.path, { ...secretive, ...operations })
  commit(made.path, '2025-06-01T12:00:00Z')
  await write(made.path, uncommitted)
  return made
}

/** Builds any folder in a temporary directory, without git. */
export async function plainFolder(files: Files): Promise<KnownFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'reeve-survey-')))
  await write(path, files)
  return { path, now: Date.parse('2026-01-01T00:00:00Z'), remove: () => rm(path, { recursive: true, force: true }) }
}

/** Writes files below a folder. */
export async function write(root: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

/** Commits everything that is not ignored, author and committer at the given time. */
export function commit(root: string, at: string): void {
  git(root, ['add', '-A'])
  git(root, ['commit', '-q', '-m', 'a day at the shop'], { GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at })
}

/** Runs git with an identity of its own, untouched by the machine's settings. */
export function git(root: string, args: readonly string[], environment: Record<string, string> = {}): string {
  const own = [
    'user.name=Ann',
    'user.email=ann@example.com',
    'init.defaultBranch=main',
    'commit.gpgsign=false',
    'core.autocrlf=false',
  ]
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  const settings = own.flatMap((setting) => ['-c', setting])
  return execFileSync('git', [...settings, '-C', root, ...args], {
    encoding: 'utf8',
    env: { ...clean, ...environment },
  })
}
