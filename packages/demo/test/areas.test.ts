import { afterEach, describe, expect, it } from 'vitest'
import {
  recruitsFor,
  renderReport,
  surveyChecks,
  surveyDependencies,
  surveyInventory,
  surveyMonorepo,
  type AreaReport,
} from '../src/survey/index.ts'
import { isTestFile } from '../src/survey/languages.ts'
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
  it('an empty report calls no model', async () => {
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
    const path = await folder({ 'package.json': json({ workspaces: ['a'] }), 'a/package.json': json({ name: 'a' }) })
    expect(recruitsFor((await surveyInventory(path)).signals)).toEqual([
      { specialist: 'monorepo', reason: 'the folder is a workspace (npm) with 1 member' },
    ])
  })
  it('is not misled by similar names', async () => {
    const path = await folder({ 'package.json': json({ name: 'x', workspaces: [] }) })
    expect(recruitsFor((await surveyInventory(path)).signals)).toEqual([])
  })
})

describe('what cannot be read is never clear', () => {
  /** The report on a folder with these files, of the surveys of dependencies and checks. */
  async function reportOn(files: Files): Promise<string> {
    const path = await folder(files)
    const areas = [await surveyDependencies(path), await surveyChecks(path)].map((findings): AreaReport => ({
      type: 'examined',
      worker: findings.area,
      findings,
    }))
    return renderReport({ folder: 'x', brain: { type: 'rules' }, run: 'r', times: [], areas, recruits: [], notes: [] })
  }
  const python = {
    'pyproject.toml': '[project]\nname = "x"\ndependencies = ["requests==2.0.0"]\n',
    'setup.cfg': '[metadata]\n',
    'src/a.py': 'print(1)\n',
    'tests/test_a.py': 'def test_a(): pass\n',
    'ruff.toml': '[lint]\n',
    '.github/workflows/t.yml': 'jobs:\n  t:\n    steps:\n      - run: pytest\n',
  }
  it.each<[string, Files, RegExp]>([
    [
      'a Python project',
      python,
      /Not examined: only npm packages are examined, not what pyproject.toml, setup.cfg declare\W/,
    ],
    [
      'a C project',
      { 'CMakeLists.txt': 'add_test(NAME core COMMAND core)\n', 'src/a.c': 'int main(){}\n' },
      /not what CMakeLists.txt declares\W/,
    ],
    [
      'a manifest whose dependencies are no object',
      { 'package.json': '{"name":"x","dependencies":"oops","devDependencies":{"a":1}}', 'a.js': '1\n' },
      /Not examined: dependencies in package.json is no object and was not examined/,
    ],
  ])('%s', async (_what, files, said) => {
    const report = await reportOn(files)
    expect(report).toMatch(said)
    expect(report).not.toMatch(/Nothing that needs attention|\| Dependencies \| 🟢 clear/)
  })

  it('a path of a manifest is no markup', async () => {
    const report = await reportOn({ 'a*b*<i>/go.mod': 'module x\n', 'a.go': 'package a\n' })
    expect(report).not.toContain('<i>/go.mod')
  })
})

describe('tests are found by their folder, too', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['of C', ['tests/core/array.c', 'tests/clar/clar.h', 'src/util/test_util.c'], ['src/core/array.c']],
    ['of C++', ['util/arena_test.cc', 'base/files_unittest.cc'], ['util/arena.cc', 'util/testutil.cc']],
    ['of JavaScript', ['packages/babel-core/test/api.js', 'test/index.mjs', 'src/__tests__/a.js'], ['src/test-kit.js']],
    ['of others', ['spec/models/user.rb', 't/test_a.lua', 'tests/Unit/UserTest.php'], ['lib/user.rb']],
    [
      'but not what they run on',
      [],
      [
        'packages/babel-core/test/fixtures/a/input.js',
        'tests/resources/a.c',
        'test/__snapshots__/a.js',
        'tests/readme.md',
      ],
    ],
  ])('%s', (_what, tests, others) => {
    expect([...tests, ...others].filter(isTestFile)).toEqual([...tests])
  })
})

describe('dependencies', () => {
  it('without a lock file are said to be so; manifests of other ecosystems are named', async () => {
    const path = await folder({
      'package.json': json({ name: 'x', dependencies: { a: '^1' } }),
      'lib/package.json': json({ name: 'nothing' }),
      'local/package.json': json({ dependencies: { x: 'file:..' } }),
      'requirements.txt': 'flask==2.0.1\n',
      'go.mod': 'module x.org/m\nrequire x.org/a v1.0.0\n',
    })
    const { withoutLock, notLocked, notes } = await surveyDependencies(path)
    expect(withoutLock).toEqual(['package.json'])
    expect(notLocked).toEqual([])
    expect(notes).toEqual(['only npm packages are examined, not what go.mod, requirements.txt declare'])
  })

  it('names five manifests of other ecosystems, and counts the others', async () => {
    const notesOf = async (names: readonly string[]): Promise<readonly string[]> =>
      (
        await surveyDependencies(
          await folder(Object.fromEntries(names.map((name) => [`${name}/go.mod`, 'module x\n']))),
        )
      ).notes
    const [first, rest] = [
      'a/go.mod, b/go.mod, c/go.mod, d/go.mod, e/go.mod',
      'only npm packages are examined, not what',
    ]
    expect(await notesOf('abcdef'.split(''))).toEqual([`${rest} ${first} and 1 other declare`])
    expect(await notesOf('abcdefg'.split(''))).toEqual([`${rest} ${first} and 2 others declare`])
  })

  it('of a pnpm workspace are matched with the lock at its root, and licences read in the store', async () => {
    const path = await folder({
      'package.json': json({ name: 'root', dependencies: { left: '^1' } }),
      'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n  - '!packages/old'\n",
      'pnpm-lock.yaml': 'packages:\n\n  left@1.0.0:\n    resolution: {}\n  right@2.0.0:\n    resolution: {}\n',
      'packages/a/package.json': json({ name: 'a', dependencies: { right: '^2', b: 'workspace:*', up: '^1' } }),
      'packages/b/package.json': json({ name: 'b' }),
      'packages/old/package.json': json({ name: 'old', dependencies: { gone: '1' } }),
      'node_modules/.pnpm/left@1.0.0/node_modules/left/package.json': json({
        name: 'left',
        version: '1.0.0',
        license: 'ISC',
      }),
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
  it('a long cycle is found once; chains and excluded packages are none', async () => {
    const member = (name: string, ...on: string[]): string =>
      json({ name, dependencies: Object.fromEntries(on.map((each) => [each, '*'])) })
    const path = await folder({
      'package.json': json({ workspaces: ['libs/*', '!libs/x'] }),
      'libs/a/package.json': member('a', 'b'),
      'libs/b/package.json': member('b', 'c'),
      'libs/c/package.json': member('c', 'a'),
      'libs/d/package.json': member('d', 'a'),
      'libs/x/package.json': member('x'),
    })
    const { packages, cycles, workspaces } = await surveyMonorepo(path)
    expect(packages.items.map(({ name, dependsOn }) => `${name}>${dependsOn.join()}`)).toEqual([
      'a>b',
      'b>c',
      'c>a',
      'd>a',
    ])
    expect(cycles).toEqual([['a', 'b', 'c']])
    expect(workspaces).toEqual([{ tool: 'npm', file: 'package.json', patterns: ['libs/*', '!libs/x'] }])
  })

  it('do not mind peers, the workspace protocol or the same range twice', async () => {
    const path = await folder({
      'package.json': json({ workspaces: { packages: ['{apps,libs}/**'] } }),
      'apps/web/package.json': json({
        name: 'web',
        dependencies: { ui: 'workspace:^', react: '^19' },
        peerDependencies: { zod: '^3' },
      }),
      'libs/deep/ui/package.json': json({
        name: 'ui',
        dependencies: { react: '^19', zod: '^4' },
        peerDependencies: { web: '*' },
      }),
    })
    const { packages, cycles, mismatches } = await surveyMonorepo(path)
    expect(packages.items.map(({ folder: at }) => at)).toEqual(['apps/web', 'libs/deep/ui'])
    expect([cycles, mismatches.total]).toEqual([[], 0])
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
      'package-lock.json': json({
        lockfileVersion: 1,
        dependencies: { a: { version: `git+https://ann:${raw.setting}@x.org/a.git` } },
      }),
    })
    const found = JSON.stringify([await surveyChecks(path), await surveyDependencies(path)])
    expect(found).toContain('NPM_TOKEN=v9Kd…16 npm test')
    expect(found).not.toContain(raw.setting)
  })
  it.each([
    ['.ci/run', '#!/bin/sh\nnpm ci\nnpm test -- --silent\n', 3],
    [
      '.github/workflows/x.yml',
      'steps:\n  - run: npm install vitest\n  - name: pytest\n  - run: python -m pytest -q\n',
      4,
    ],
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
