import { afterEach, describe, expect, it } from 'vitest'
import {
  recruitsFor,
  surveyChecks,
  surveyDependencies,
  surveyDocker,
  surveyInventory,
  surveyLinks,
  surveyMigrations,
  surveyMonorepo,
  surveySecrets,
} from '../../src/demo/survey/index.ts'
import { plainFolder, raw, type Files, type KnownFolder } from './folder.ts'

const made: KnownFolder[] = []
const folder = async (files: Files): Promise<string> => {
  const one = await plainFolder(files)
  made.push(one)
  return one.path
}
afterEach(async () => {
  for (const one of made.splice(0)) await one.remove()
})
const json = (value: unknown): string => JSON.stringify(value, null, 2)

describe('an empty folder', () => {
  it('has nothing to report and calls for nobody', async () => {
    const path = await folder({})
    const { signals, languages, bytes } = await surveyInventory(path)
    expect([languages, bytes, recruitsFor(signals)]).toEqual([[], 0, []])
    expect((await surveyChecks(path)).missing).toEqual([])
    expect((await surveyMonorepo(path)).packages.total).toBe(0)
    expect((await surveyDependencies(path)).licences).toEqual({
      packages: 0,
      counts: [],
      copyleft: { total: 0, items: [] },
      unknown: { total: 0, items: [] },
      other: { total: 0, items: [] },
    })
  })
})

describe('recruiting', () => {
  it('names what was found', async () => {
    const path = await folder({
      Dockerfile: 'FROM scratch\n',
      'go.work': 'use ./a\n',
      'a/go.mod': 'module x.org/a\n',
      'db/migrate/1_a.sql': '',
      'x/migrations/1_a.sql': '',
    })
    expect(recruitsFor((await surveyInventory(path)).signals)).toEqual([
      { specialist: 'monorepo', reason: 'the folder is a workspace (go) with 1 member' },
      { specialist: 'docker', reason: 'the folder holds 1 Dockerfile (Dockerfile)' },
      { specialist: 'migrations', reason: 'the folder holds 2 folders (db/migrate first) with SQL migrations' },
    ])
  })
  it('is not misled by similar names', async () => {
    const path = await folder({
      'Dockerfile.md': '',
      'docs/docker.txt': '',
      'sql/query.sql': '',
      'package.json': json({ name: 'x', workspaces: [] }),
    })
    expect(recruitsFor((await surveyInventory(path)).signals)).toEqual([])
  })
})

describe('dependencies', () => {
  it('without a lock file are said to be so, exact requirements and Go modules excepted', async () => {
    const path = await folder({
      'package.json': json({ name: 'x', dependencies: { a: '^1' } }),
      'lib/package.json': json({ name: 'nothing' }),
      'local/package.json': json({ dependencies: { x: 'file:..' } }),
      'requirements.txt': 'flask==2.0.1\n',
      'other/requirements.txt': 'flask>=2\n',
      'go.mod': 'module x.org/m\nrequire x.org/a v1.0.0\n',
    })
    const { withoutLock, notLocked, notes } = await surveyDependencies(path)
    expect(withoutLock).toEqual(['other/requirements.txt', 'package.json'])
    expect(notLocked).toEqual([])
    expect(notes).toEqual(['licences are examined for npm packages only: the lock files of other ecosystems do not record them'])
  })

  it('of a pnpm workspace are matched with the lock at its root, and licences read in the store', async () => {
    const path = await folder({
      'package.json': json({ name: 'root', dependencies: { left: '^1' } }),
      'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n  - '!packages/old'\n",
      'pnpm-lock.yaml': 'packages:\n\n  left@1.0.0:\n    resolution: {}\n  right@2.0.0:\n    resolution: {}\n',
      'packages/a/package.json': json({ name: 'a', dependencies: { right: '^2', b: 'workspace:*', up: '^1' } }),
      'packages/b/package.json': json({ name: 'b' }),
      'packages/old/package.json': json({ name: 'old', dependencies: { gone: '1' } }),
      'node_modules/.pnpm/left@1.0.0/node_modules/left/package.json': json({ name: 'left', version: '1.0.0', license: 'ISC' }),
    })
    const { declared, notLocked, withoutLock, licences } = await surveyDependencies(path)
    expect(declared.items.map(({ name, locked }) => [name, locked])).toEqual([
      ['left', '1.0.0'],
      ['right', '2.0.0'],
      ['b', 'local'],
      ['up', null],
      ['gone', null],
    ])
    expect(notLocked.map(({ name }) => name)).toEqual(['up'])
    expect(withoutLock).toEqual(['packages/old/package.json'])
    expect(licences.counts).toEqual([
      { licence: 'ISC', packages: 1 },
      { licence: 'unknown', packages: 1 },
    ])
  })

  it('that cannot be read are named, not dropped', async () => {
    const path = await folder({
      'package.json': '{ broken',
      'package-lock.json': '[]',
      'bun.lock': '{}',
      'sub/package.json': json({ name: 's' }),
    })
    expect((await surveyDependencies(path)).notes).toEqual([
      'bun.lock is in a format that is not examined',
      'package-lock.json is not valid and was not examined',
      'package.json is not valid and was not examined',
    ])
  })
})

describe('workspaces', () => {
  it('of Cargo and Go are read, a long cycle is found once and a chain is none', async () => {
    const crate = (name: string, ...on: string[]): string =>
      `[package]\nname = "${name}"\nversion = "0.1.0"\n[dependencies]\n${on.map((n) => `${n} = { path = "../${n}" }\n`).join('')}`
    const path = await folder({
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/x"]\n',
      'crates/a/Cargo.toml': crate('a', 'b'),
      'crates/b/Cargo.toml': crate('b', 'c'),
      'crates/c/Cargo.toml': crate('c', 'a'),
      'crates/d/Cargo.toml': crate('d', 'a'),
      'crates/x/Cargo.toml': crate('x'),
    })
    const { packages, cycles, workspaces } = await surveyMonorepo(path)
    expect(packages.items.map(({ name, dependsOn }) => `${name}>${dependsOn.join()}`)).toEqual(['a>b', 'b>c', 'c>a', 'd>a'])
    expect(cycles).toEqual([['a', 'b', 'c']])
    expect(workspaces).toEqual([{ tool: 'cargo', file: 'Cargo.toml', patterns: ['crates/*', '!crates/x'] }])
  })

  it('do not mind peers, the workspace protocol or the same range twice', async () => {
    const path = await folder({
      'package.json': json({ workspaces: { packages: ['{apps,libs}/**'] } }),
      'apps/web/package.json': json({ name: 'web', dependencies: { ui: 'workspace:^', react: '^19' }, peerDependencies: { zod: '^3' } }),
      'libs/deep/ui/package.json': json({ name: 'ui', dependencies: { react: '^19', zod: '^4' }, peerDependencies: { web: '*' } }),
    })
    const { packages, cycles, mismatches } = await surveyMonorepo(path)
    expect(packages.items.map(({ folder: at }) => at)).toEqual(['apps/web', 'libs/deep/ui'])
    expect([cycles, mismatches.total]).toEqual([[], 0])
  })
})

describe('links', () => {
  it('may point to ignored files, folders, queries and pages that were not read', async () => {
    const path = await folder({
      'node_modules/x/README.md': '# X\n[broken](gone.md)\n',
      'a.md':
        '[x](node_modules/x/README.md#any) [y](./) [z](b.md?raw=true) [w](..) [v](b.md#Part) [u](b.md#user-content-part) [t]({{url}}/x)\n',
      'b.md': '## Part\n',
      'site/page.mdx': '[other](./other) [file](./gone.png)\n',
    })
    const { broken, siteLinks, notChecked, pages } = await surveyLinks(path)
    expect(broken.items.map(({ target }) => target)).toEqual(['./gone.png'])
    expect(siteLinks.items.map(({ target }) => target)).toEqual(['./other'])
    expect([pages, notChecked]).toEqual([3, { web: 0, outside: 1, template: 1 }])
  })
  it('get a hint when the heading or the file is nearly there', async () => {
    const path = await folder({ 'a.md': '# Set up\n[x](#setup) [y](guide)\n', 'guide.md': '' })
    const { broken } = await surveyLinks(path)
    expect(broken.items.map(({ reason, hint }) => [reason, hint])).toEqual([
      ['anchor-missing', '#set-up'],
      ['file-missing', 'guide.md'],
    ])
  })
})

describe('secrets outside a repository', () => {
  it('are of unknown state, and templates of .env files are none', async () => {
    const path = await folder({
      '.env.local': `PORT=1\nTOKEN=${raw.setting}\n`,
      '.env.sample': 'TOKEN=x\n',
      'sub/.env': 'EMPTY=""\n# A=b\n',
      'package-lock.json': `{ "token": "${raw.setting}" }`,
    })
    const { secrets, envFiles } = await surveySecrets(path)
    expect(envFiles).toEqual([{ file: '.env.local', assignments: 2, state: 'unknown' }])
    expect(secrets.items).toEqual([
      { file: '.env.local', line: 2, kind: 'assigned-secret', confidence: 'likely', masked: 'v9Kd…16', tracked: null },
    ])
  })
})

describe('Dockerfiles', () => {
  const rules = async (text: string, more: Files = {}): Promise<string[]> => {
    const { findings } = await surveyDocker(await folder({ Dockerfile: text, ...more }))
    return findings.items.map(({ line, rule }) => `${line} ${rule}`)
  }
  it('that are in order get no remark', async () => {
    const text = [
      '# syntax=docker/dockerfile:1',
      'ARG TAG=24-slim',
      'FROM --platform=$BUILDPLATFORM node:${TAG} AS base',
      'RUN --mount=type=cache,target=/var/lib/apt apt-get update && apt-get install -y git',
      'RUN <<EOF',
      'apt-get update',
      'apt-get install -y curl',
      'rm -rf /var/lib/apt/lists/*',
      'EOF',
      'USER node',
      'ADD app.tar.gz /app',
      'FROM base',
      'ENV TOKEN_URL=https://x.org NODE_ENV="production"',
      'COPY . .',
    ]
    expect(await rules(`${text.join('\n')}\n`, { '.dockerignore': 'node_modules\n' })).toEqual([])
  })
  it('are judged by their last stage and their last user', async () => {
    expect(await rules('FROM alpine:3.20\nUSER app\nUSER root\n')).toEqual(['1 no-user'])
    expect(await rules('FROM alpine:3.20 AS b\nUSER app\nFROM alpine:3.20\n')).toEqual(['3 no-user'])
    expect(await rules('FROM gcr.io/distroless/static:nonroot\n')).toEqual([])
    expect(await rules('FROM registry:5000/team/app\nUSER 1000\n')).toEqual(['1 from-untagged'])
    expect(await rules('FROM node:latest@sha256:abc\nUSER 1\n')).toEqual([])
    expect(await rules('FROM node:latest\nUSER 1\nRUN apt-get update\nENV A=1 \\\n    API_KEY=x\n')).toEqual([
      '1 from-latest',
      '3 apt-update-alone',
      '4 secret-in-env',
    ])
  })
})

describe('migrations', () => {
  it('of other tools are read in their own way', async () => {
    const path = await folder({
      'prisma/migrations/20240101000000_a/migration.sql': 'TRUNCATE TABLE "x";\n',
      'prisma/migrations/20240301000000_b/migration.sql': 'DELETE FROM x WHERE id = 1;\nDELETE FROM y;\n',
      'goose/migrations/00001_a.sql': '-- +goose Up\nCREATE TABLE a (id int);\n-- +goose Down\nDROP TABLE a;\n',
      'goose/migrations/00002_b.sql': '-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY i ON a (id);\n',
      'flyway/migrations/V1__a.sql': '',
      'flyway/migrations/V1.1__b.sql': '',
      'flyway/migrations/U1__a.sql': 'DROP TABLE a;\n',
      'flyway/migrations/R__view.sql': '',
      'diesel/migrations/2024-01-01-000000_a/up.sql': "ALTER TYPE mood ADD VALUE 'calm';\n",
      'diesel/migrations/2024-02-01-000000_b/up.sql': '',
      'steps/migrations/010_a.sql': '',
      'steps/migrations/020_b.sql': '',
      'steps/migrations/040_c.sql': '',
      'diesel/migrations/2024-01-01-000000_a/down.sql': 'DROP TABLE a;\n',
      'queries/drop.sql': 'DROP TABLE a;\n',
    })
    const { series, destructive, nonTransactional } = await surveyMigrations(path)
    expect(
      series.map(({ folder: at, migrations, numbering, gaps, reversible, missingDown }) => [
        at,
        migrations,
        numbering,
        gaps,
        reversible,
        missingDown,
      ]),
    ).toEqual([
      ['diesel/migrations', 2, 'timestamp', [], 1, ['diesel/migrations/2024-02-01-000000_b/up.sql']],
      ['flyway/migrations', 3, 'version', [], 1, ['flyway/migrations/V1.1__b.sql']],
      ['goose/migrations', 2, 'sequential', [], 1, ['goose/migrations/00002_b.sql']],
      ['prisma/migrations', 2, 'timestamp', [], 0, []],
      ['steps/migrations', 3, 'sequential', ['30'], 0, []],
    ])
    expect(destructive.items.map(({ file, line, statement, subject }) => [file.split('/')[0], line, statement, subject])).toEqual([
      ['prisma', 1, 'truncate', 'x'],
      ['prisma', 2, 'delete-all', 'y'],
    ])
    expect(nonTransactional.items.map(({ statement, subject }) => [statement, subject])).toEqual([['enum-add-value', 'mood']])
  })
})

describe('tests and CI', () => {
  it('are missed one by one', async () => {
    const stub = { scripts: { test: 'echo "Error: no test specified" && exit 1' } }
    expect((await surveyChecks(await folder({ 'a.ts': '', 'package.json': json(stub) }))).missing).toEqual([
      'tests',
      'test-command',
      'ci',
      'lint',
      'format',
    ])
    const other = await surveyChecks(
      await folder({
        'a.go': '',
        'a_test.go': '',
        '.gitlab-ci.yml': 'build:\n  script:\n    - go build ./...\n    # - go test ./...\n',
        '.golangci.yml': '',
      }),
    )
    expect(other.missing).toEqual(['tests-in-ci'])
    expect(other.frameworks).toEqual([{ tool: 'go test', file: 'a_test.go' }])
  })
  it('are quoted without the secrets in their commands', async () => {
    const path = await folder({
      'a.ts': '',
      'package.json': json({ scripts: { test: `API_KEY=${raw.setting} vitest` } }),
      '.ci/run': `NPM_TOKEN=${raw.setting} npm test\n`,
      'package-lock.json': json({ lockfileVersion: 1, dependencies: { a: { version: `git+https://ann:${raw.setting}@x.org/a.git` } } }),
    })
    const found = JSON.stringify([await surveyChecks(path), await surveyDependencies(path)])
    expect(found).toContain('NPM_TOKEN=v9Kd…16 npm test')
    expect(found).not.toContain(raw.setting)
  })
  it.each([
    ['.ci/run', '#!/bin/sh\nnpm ci\nnpm test -- --silent\n', 3],
    ['.github/workflows/x.yml', 'steps:\n  - run: npm install vitest\n  - name: pytest\n  - run: python -m pytest -q\n', 4],
    ['.circleci/config.yml', 'steps:\n  - run: pnpm -r run check\n', 2],
    ['Jenkinsfile', "sh 'npm ci'\nsh 'npm run build'\n", null],
  ])('finds the tests in %s', async (file, text, line) => {
    const path = await folder({
      'a.ts': '',
      'package.json': json({ scripts: { check: 'npm run a', a: 'npm run check && node --test', build: 'tsc' } }),
      [file]: text,
    })
    expect((await surveyChecks(path)).ciTest?.line ?? null).toBe(line)
  })
})
