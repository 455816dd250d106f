import { describe, expect, it } from 'vitest'
import { licenceClass, statedLicence } from '../src/survey/licences.ts'
import { lockedFor, readLock } from '../src/survey/locks.ts'
import { readManifest } from '../src/survey/manifests.ts'
import { mask, withoutSecrets } from '../src/survey/masking.ts'
import { raw } from './folder.ts'

describe('masking secrets', () => {
  it('never shows more than a third of a value', () => {
    expect(mask('abcdefghijkl')).toBe('abcd…12')
    expect(mask('abcdefghijk')).toBe('…11')
    expect(withoutSecrets(`see ${raw.github} at https://ann:x@example.com/`)).toBe(
      'see ghp_…40 at https://…@example.com/',
    )
  })

  it('masks what a quoted command line says', () => {
    const line = `NPM_TOKEN=${raw.setting} npm test --token ${raw.phrase} -H "Authorization: Bearer ${raw.setting}"`
    expect(withoutSecrets(line)).toBe('NPM_TOKEN=v9Kd…16 npm test --token tr7!…12 -H "Authorization: Bearer v9Kd…16"')
    expect(withoutSecrets('the token marker and a password field')).toBe('the token marker and a password field')
  })
})

describe('reading lock files', () => {
  const names = (file: string, text: string): string[] | undefined =>
    readLock(file, text)?.packages.map(({ name, version }) => `${name}@${version}`)
  it('of yarn, old and new', () => {
    expect(
      names(
        'yarn.lock',
        '# yarn lockfile v1\n\n"@a/b@^1.0.0", "@a/b@^1.2.0":\n  version "1.2.3"\n  dependencies:\n    c "^1"\n\nc@^1:\n  version "1.0.0"\n',
      ),
    ).toEqual(['@a/b@1.2.3', 'c@1.0.0'])
    expect(
      names(
        'yarn.lock',
        '__metadata:\n  version: 8\n\n"c@npm:^1":\n  version: 1.0.1\n\n"own@workspace:.":\n  version: 0.0.0-use.local\n',
      ),
    ).toEqual(['c@1.0.1'])
  })
  it('of pnpm, three generations', () => {
    expect(
      names(
        'pnpm-lock.yaml',
        "lockfileVersion: '9.0'\nimporters:\n\n  .:\n    dependencies:\n      a:\n        version: 1.0.0\npackages:\n\n  a@1.0.0:\n    resolution: {}\n\n  '@s/b@2.0.0(a@1.0.0)':\n    resolution: {}\nsnapshots:\n\n  a@1.0.0: {}\n",
      ),
    ).toEqual(['a@1.0.0', '@s/b@2.0.0'])
    expect(
      names('pnpm-lock.yaml', 'packages:\n\n  /a@1.0.0:\n    dev: true\n  /@s/b@2.0.0(a@1.0.0):\n    dev: true\n'),
    ).toEqual(['a@1.0.0', '@s/b@2.0.0'])
    expect(
      names('pnpm-lock.yaml', 'packages:\n\n  /a/1.0.0:\n    dev: true\n  /@s/b/2.0.0_a@1.0.0:\n    dev: true\n'),
    ).toEqual(['a@1.0.0', '@s/b@2.0.0'])
  })
  it('of npm before version 7', () => {
    const old = JSON.stringify({
      lockfileVersion: 1,
      dependencies: { a: { version: '1.0.0', dependencies: { b: { version: '2.0.0' } } } },
    })
    expect(names('package-lock.json', old)).toEqual(['a@1.0.0', 'b@2.0.0'])
    expect(readLock('package-lock.json', '{')).toBeNull()
  })
  it('resolves as npm does, nearest first', () => {
    const lock = readLock(
      'sub/package-lock.json',
      JSON.stringify({
        packages: { 'node_modules/a': { version: '1.0.0' }, 'p/node_modules/a': { version: '2.0.0' } },
      }),
    )
    if (lock === null) throw new Error('the lock file was not read')
    expect([
      lockedFor(lock, 'sub', 'a'),
      lockedFor(lock, 'sub/p', 'a'),
      lockedFor(lock, 'sub/q/r', 'a'),
      lockedFor(lock, 'sub', 'b'),
    ]).toMatchObject([{ version: '1.0.0' }, { version: '2.0.0' }, { version: '1.0.0' }, null])
  })
})

describe('reading manifests', () => {
  const declared = (file: string, text: string): string[] | undefined =>
    readManifest(file, text)?.declared.map(({ name, range, kind, line }) => `${line} ${kind} ${name} ${range}`.trim())
  it('masks credentials in a range and refuses what is no JSON', () => {
    expect(declared('package.json', '{"dependencies":{"a":"git+https://ann:hunter2hunter@x.org/a.git"}}')).toEqual([
      '1 runtime a git+https://…@x.org/a.git',
    ])
    expect(readManifest('package.json', '{ "dependencies": ')).toBeNull()
  })
})

describe('classing licences', () => {
  it.each([
    ['MIT', 'permissive'],
    ['(MIT OR GPL-3.0)', 'permissive'],
    ['MIT AND GPL-2.0-only', 'strong-copyleft'],
    ['(MIT AND (Apache-2.0 OR LGPL-2.1))', 'permissive'],
    ['GPL-2.0 WITH Classpath-exception-2.0', 'weak-copyleft'],
    ['LGPL-3.0-or-later', 'weak-copyleft'],
    ['AGPL-3.0', 'network-copyleft'],
    ['GPLv3', 'strong-copyleft'],
    ['SEE LICENSE IN LICENSE.md', 'other'],
    ['UNLICENSED', 'other'],
    ['Unlicense', 'permissive'],
  ])('%s is %s', (licence, expected) => {
    expect(licenceClass(licence)).toBe(expected)
  })
  it('reads the old ways to state one', () => {
    expect(
      [{ license: { type: 'MIT' } }, { licenses: [{ type: 'MIT' }, { type: 'BSD' }] }, { licenses: [] }, {}].map(
        statedLicence,
      ),
    ).toEqual(['MIT', '(MIT OR BSD)', null, null])
  })
})
