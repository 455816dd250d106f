import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { surveyChecks, surveyDependencies, surveyInventory, surveyMonorepo, surveyTodos } from '../src/survey/index.ts'
import { knownFolder, raw, type KnownFolder } from './folder.ts'

let shop: KnownFolder
beforeAll(async () => {
  shop = await knownFolder()
})
afterAll(() => shop.remove())

const surveys = [surveyInventory, surveyDependencies, surveyTodos, surveyChecks, surveyMonorepo]

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
    for (const survey of surveys)
      await expect(survey(shop.path, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  })

  it('looks at what git knows: not at ignored files, links, packages or the old report', async () => {
    const { coverage } = await surveyInventory(shop.path)
    expect(coverage).toEqual({
      source: 'git',
      files: 25,
      read: 24,
      binary: 1,
      symlinks: 1,
      tooLarge: [],
      unreadable: [],
      truncated: null,
    })
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
      ci: ['.github/workflows/ci.yml'],
      manifests: ['package.json', 'packages/a/package.json', 'packages/b/package.json'],
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
    expect(licences.unknown.items).toEqual([
      { name: 'mystery', version: '1.0.2', licence: null, class: 'unknown', direct: true },
    ])
  })

  it('has its loose ends dated by git, and those git cannot date are of unknown age', async () => {
    const { todos, markers, unknownAge, notSearched } = await surveyTodos(shop.path, { now: shop.now })
    expect(
      todos.items.map(({ file, line, text, since, ageDays }) => [`${file}:${line}`, text, since, ageDays]),
    ).toEqual([
      ['config/live.ts:2', 'TODO: rotate ghp_…40', '2025-06-01', 213],
      ['docs/with space.md:3', 'TODO: write this page', '2024-01-10', 721],
      ['notes.ts:1', 'XXX: untracked', null, null],
      ['scripts/run.py:3', 'HACK: works for now', '2024-01-10', 721],
      ['src/app.ts:2', 'TODO: first of 2024', '2024-01-10', 721],
      ['src/app.ts:5', 'FIXME(ann): second line of a block', '2024-01-10', 721],
      ['src/app.ts:10', 'TODO: not committed yet', null, null],
    ])
    expect({ markers, unknownAge, notSearched }).toEqual({
      markers: { TODO: 4, FIXME: 1, HACK: 1, XXX: 1 },
      unknownAge: 2,
      notSearched: 1,
    })
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
})
