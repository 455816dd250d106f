import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  surveyChecks,
  surveyDependencies,
  surveyDocker,
  surveyInventory,
  surveyLinks,
  surveyMigrations,
  surveyMonorepo,
  surveySecrets,
  surveyTodos,
} from '../../src/demo/survey/index.ts'
import { knownFolder, raw, type KnownFolder } from './folder.ts'

let shop: KnownFolder
beforeAll(async () => {
  shop = await knownFolder()
})
afterAll(() => shop.remove())

const surveys = [
  surveyInventory,
  surveyDependencies,
  surveyLinks,
  surveyTodos,
  surveySecrets,
  surveyChecks,
  surveyMonorepo,
  surveyDocker,
  surveyMigrations,
]

describe('every survey of the known folder', () => {
  it('gives plain JSON, the same twice, without a raw secret anywhere', async () => {
    for (const survey of surveys) {
      const first = await survey(shop.path, { now: shop.now })
      const text = JSON.stringify(first)
      expect(JSON.parse(text)).toEqual(first)
      expect(JSON.stringify(await survey(shop.path, { now: shop.now }))).toBe(text)
      for (const value of Object.values(raw)) expect(text).not.toContain(value)
    }
  })

  it('stops when its signal is aborted', async () => {
    for (const survey of surveys) await expect(survey(shop.path, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  })

  it('looks at what git knows: not at ignored files, links, packages or the old report', async () => {
    const { coverage } = await surveyInventory(shop.path)
    expect(coverage).toEqual({ source: 'git', files: 25, read: 24, binary: 1, symlinks: 1, tooLarge: [], unreadable: [], truncated: null })
  })
})

describe('the known folder', () => {
  it('has its files counted and its signals seen', async () => {
    const { languages, signals, biggest, lines } = await surveyInventory(shop.path)
    expect(languages.map(({ language, files, lines: n }) => [language, files, n])).toEqual([
      ['Lock file', 1, 60],
      ['JSON', 3, 39],
      ['Markdown', 3, 34],
      ['TypeScript', 4, 25],
      ['Dockerfile', 1, 11],
      ['SQL', 5, 9],
      ['INI', 4, 8],
      ['YAML', 1, 6],
      ['other', 1, 3],
      ['Python', 1, 3],
      ['Binary', 1, 0],
    ])
    expect(lines).toBe(198)
    expect(biggest[0]).toEqual({ file: 'package-lock.json', bytes: 1219, lines: 60 })
    expect(signals).toEqual({
      git: true,
      monorepo: { tools: ['npm'], members: 2 },
      dockerfiles: ['Dockerfile'],
      migrations: ['db/migrations'],
      ci: ['.github/workflows/ci.yml'],
      manifests: ['package.json', 'packages/a/package.json', 'packages/b/package.json'].map((file) => ({ file, ecosystem: 'npm' })),
      markdown: 3,
      tests: 1,
    })
  })

  it('has its dependencies matched with the lock file, and licences read but never guessed', async () => {
    const { declared, notLocked, withoutLock, licences, notes } = await surveyDependencies(shop.path)
    expect(declared.items.map(({ name, manifest, line, locked }) => [name, `${manifest}:${line}`, locked])).toEqual([
      ['left-pad', 'package.json:12', '1.3.0'],
      ['gpl-thing', 'package.json:13', '2.1.0'],
      ['mystery', 'package.json:14', '1.0.2'],
      ['ghost', 'package.json:15', null],
      ['vitest', 'package.json:18', '3.2.0'],
      ['react', 'package.json:21', null],
      ['@shop/b', 'packages/a/package.json:5', 'local'],
      ['zod', 'packages/a/package.json:6', '3.25.0'],
      ['@shop/a', 'packages/b/package.json:5', 'local'],
      ['zod', 'packages/b/package.json:6', '4.1.0'],
    ])
    expect(notLocked.map(({ name }) => name)).toEqual(['ghost'])
    expect(withoutLock).toEqual([])
    expect(notes).toEqual([])
    expect(licences.packages).toBe(10)
    expect(licences.counts).toEqual([
      { licence: 'MIT', packages: 4 },
      { licence: '(MIT OR GPL-3.0-or-later)', packages: 1 },
      { licence: 'GPL-3.0-only', packages: 1 },
      { licence: 'ISC', packages: 1 },
      { licence: 'MPL-2.0', packages: 1 },
      { licence: 'WTFPL', packages: 1 },
      { licence: 'unknown', packages: 1 },
    ])
    expect(licences.copyleft.items.map((found) => [found.name, found.class, found.direct])).toEqual([
      ['gpl-thing', 'strong-copyleft', true],
      ['lesser', 'weak-copyleft', false],
    ])
    expect(licences.unknown.items).toEqual([{ name: 'mystery', version: '1.0.2', licence: null, class: 'unknown', direct: true }])
  })

  it('has its broken links found, and nothing in code taken for one', async () => {
    const { broken, siteLinks, notChecked, checked, pages } = await surveyLinks(shop.path)
    expect(broken.items.map((link) => [`${link.file}:${link.line}`, link.kind, link.target, link.reason, link.hint])).toEqual([
      ['README.md:3', 'link', 'docs/gone.md', 'file-missing', null],
      ['README.md:4', 'image', 'img/lost.png', 'file-missing', null],
      ['README.md:7', 'link', '#nowhere', 'anchor-missing', null],
      ['README.md:19', 'definition', 'docs/missing.md', 'file-missing', null],
      ['README.md:21', 'link', 'docs/Guide.md', 'file-missing', 'docs/guide.md'],
      ['README.md:21', 'html', 'img/none.svg', 'file-missing', null],
      ['docs/guide.md:8', 'link', '#setup-2', 'anchor-missing', null],
    ])
    expect(siteLinks.items.map(({ target }) => target)).toEqual(['/from/the/root.md'])
    expect({ pages, checked, notChecked }).toEqual({ pages: 3, checked: 18, notChecked: { web: 2, outside: 1, template: 0 } })
  })

  it('has its loose ends dated by git, and those git cannot date are of unknown age', async () => {
    const { todos, markers, unknownAge, notSearched } = await surveyTodos(shop.path, { now: shop.now })
    expect(todos.items.map(({ file, line, text, since, ageDays }) => [`${file}:${line}`, text, since, ageDays])).toEqual([
      ['config/live.ts:2', 'TODO: rotate ghp_…40', '2025-06-01', 213],
      ['docs/with space.md:3', 'TODO: write this page', '2024-01-10', 721],
      ['notes.ts:1', 'XXX: untracked', null, null],
      ['scripts/run.py:3', 'HACK: works for now', '2024-01-10', 721],
      ['src/app.ts:2', 'TODO: first of 2024', '2024-01-10', 721],
      ['src/app.ts:5', 'FIXME(ann): second line of a block', '2024-01-10', 721],
      ['src/app.ts:10', 'TODO: not committed yet', null, null],
    ])
    expect({ markers, unknownAge, notSearched }).toEqual({ markers: { TODO: 4, FIXME: 1, HACK: 1, XXX: 1 }, unknownAge: 2, notSearched: 1 })
  })

  it('has its secrets found and masked, and placeholders passed over', async () => {
    const { secrets, envFiles } = await surveySecrets(shop.path)
    expect(secrets.total).toBe(10)
    expect(secrets.items.map(({ file, line, kind, masked }) => [`${file}:${line}`, kind, masked])).toEqual([
      ['.npmrc:1', 'npm-token', 'npm_…40'],
      ['config/live.ts:1', 'aws-access-key', 'AKIA…20'],
      ['config/live.ts:2', 'github-token', 'ghp_…40'],
      ['config/live.ts:2', 'github-token', 'ghp_…40'],
      ['config/live.ts:3', 'stripe-live-key', 'sk_l…28'],
      ['config/live.ts:4', 'google-api-key', 'AIza…39'],
      ['config/live.ts:4', 'slack-token', 'xoxb…32'],
      ['config/server.pem:1', 'private-key', null],
      ['.env:2', 'assigned-secret', 'v9Kd…16'],
      ['config/live.ts:3', 'assigned-secret', 'tr7!…12'],
    ])
    expect(secrets.items.every(({ tracked }) => tracked === true)).toBe(true)
    expect(envFiles).toEqual([{ file: '.env', assignments: 2, state: 'committed' }])
  })

  it('has its tests found in CI through a package script', async () => {
    const { area: _area, coverage: _coverage, ...found } = await surveyChecks(shop.path)
    expect(found).toEqual({
      sources: 10,
      testFiles: 1,
      frameworks: [{ tool: 'vitest', file: 'package.json' }],
      testScript: { command: 'vitest run', file: 'package.json' },
      ci: [{ service: 'GitHub Actions', file: '.github/workflows/ci.yml' }],
      ciTest: { file: '.github/workflows/ci.yml', line: 6, command: '- run: npm run verify' },
      lint: [],
      format: [],
      missing: ['lint', 'format'],
    })
  })

  it('has the cycle of its workspace and the differing range', async () => {
    const { packages, cycles, mismatches, duplicateNames } = await surveyMonorepo(shop.path)
    expect(packages.items.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
      ['@shop/a', ['@shop/b']],
      ['@shop/b', ['@shop/a']],
    ])
    expect(cycles).toEqual([['@shop/a', '@shop/b']])
    expect(mismatches.items.map(({ name, ranges }) => [name, ranges])).toEqual([
      [
        'zod',
        [
          { range: '^3.0.0', places: ['packages/a/package.json:6'] },
          { range: '^4.0.0', places: ['packages/b/package.json:6'] },
        ],
      ],
    ])
    expect(duplicateNames).toEqual([])
  })

  it('has its Dockerfile read line by line', async () => {
    const { dockerfiles, findings } = await surveyDocker(shop.path)
    expect(dockerfiles).toEqual([{ file: 'Dockerfile', stages: 2, baseImages: ['node:24', 'nginx'] }])
    expect(findings.items.map(({ line, rule, subject }) => [line, rule, subject])).toEqual([
      [3, 'apt-not-cleaned', 'apt-get install'],
      [5, 'no-dockerignore', 'Dockerfile'],
      [6, 'add-instead-of-copy', 'src'],
      [7, 'secret-in-arg', 'NPM_TOKEN'],
      [8, 'from-untagged', 'nginx'],
      [8, 'no-user', 'nginx'],
      [9, 'secret-in-env', 'DB_PASSWORD'],
    ])
  })

  it('has its migrations ordered and judged', async () => {
    const { series, destructive, nonTransactional } = await surveyMigrations(shop.path)
    const again = 'db/migrations/002_again.up.sql'
    const orders = 'db/migrations/002_orders.up.sql'
    expect(series).toEqual([
      {
        folder: 'db/migrations',
        migrations: 4,
        numbering: 'sequential',
        gaps: ['3'],
        duplicates: [{ number: '2', files: [again, orders] }],
        unnumbered: [],
        reversible: 1,
        missingDown: [again, orders, 'db/migrations/004_gone.up.sql'],
      },
    ])
    expect(destructive.items.map(({ file, line, statement, subject }) => [file, line, statement, subject])).toEqual([
      [orders, 4, 'drop-column', 'age'],
      ['db/migrations/004_gone.up.sql', 1, 'drop-table', 'orders'],
    ])
    expect(nonTransactional.items.map(({ file, line, subject }) => [file, line, subject])).toEqual([[again, 2, 'by_name']])
  })
})
