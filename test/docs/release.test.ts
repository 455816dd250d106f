/** A release: what must be true before it, and which section of the changelog it dates. */
import { expect, test } from 'vitest'
import { dated, releasePlan, type ReleaseState } from '../../scripts/release.ts'

const log = (...parts: readonly string[]): string => ['# Changelog', ...parts].join('\n\n')
const unreleased = '## [Unreleased]\n\n### Added\n\n- A thing.'
const ready: ReleaseState = {
  branch: 'main',
  changed: [],
  tags: ['v0.1.0'],
  version: '0.2.0',
  lockVersion: '0.2.0',
  changelog: log(unreleased, '## [0.1.0] - 2026-01-01\n\n- The first.'),
  day: '2026-12-01',
}

test('what is listed under Unreleased becomes the dated section of the version', () => {
  expect(releasePlan(ready)).toEqual({
    ok: true,
    tag: 'v0.2.0',
    package: 'reeve-0.2.0.tgz',
    changelog: log(
      '## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A thing.',
      '## [0.1.0] - 2026-01-01\n\n- The first.',
    ),
  })
})

test('a section of the version that has no date is dated', () => {
  expect(dated(log('## [Unreleased]', '## [0.2.0]\n\n- A thing.'), '0.2.0', '2026-12-01')).toEqual({
    text: log('## [Unreleased]', '## [0.2.0] - 2026-12-01\n\n- A thing.'),
  })
})

test('a section that has its date keeps it', () => {
  const text = log('## [Unreleased]', '## [0.2.0] - 2026-11-29\n\n- A thing.')
  expect(dated(text, '0.2.0', '2026-12-01')).toEqual({ text })
})

test.each([
  ['a heading that is none', log('## [0.2.0] soon\n\n- A thing.'), /"## \[0\.2\.0\] soon" is neither/],
  ['entries beside a dated one', log(unreleased, '## [0.2.0] - 2026-01-01\n\n- A thing.'), /1 entries stand under/],
  ['entries beside it', log(unreleased, '## [0.2.0]\n\n- A thing.'), /1 entries stand under Unreleased/],
  ['an empty section', log('## [Unreleased]', '## [0.2.0]'), /nothing is listed for 0\.2\.0/],
  ['nothing under Unreleased', log('## [Unreleased]', '## [0.1.0]\n\n- The first.'), /nothing is listed for 0\.2\.0/],
  ['no section at all', log(), /nothing is listed for 0\.2\.0/],
])('the version and the changelog must agree: %s', (_what, changelog, problem) => {
  expect(releasePlan({ ...ready, changelog })).toEqual({ ok: false, problems: [expect.stringMatching(problem)] })
})

test.each<[string, Partial<ReleaseState>, RegExp]>([
  ['another branch', { branch: 'w/x' }, /on main, not on "w\/x"/],
  ['files that are not committed', { changed: [' M a.ts'] }, /1 files are not committed: {2}M a\.ts/],
  ['a tag that exists', { tags: ['v0.2.0'] }, /the tag v0\.2\.0 exists/],
  ['a lock of another version', { lockVersion: '0.1.0' }, /package-lock\.json has version 0\.1\.0/],
])('%s stands in its way', (_what, change, problem) => {
  expect(releasePlan({ ...ready, ...change })).toEqual({ ok: false, problems: [expect.stringMatching(problem)] })
})

test('a version that is none stands in its way, and all problems are told at once', () => {
  const plan = releasePlan({ ...ready, version: 'next', branch: 'w/x' })
  expect(plan).toMatchObject({ ok: false })
  expect(plan.ok ? [] : plan.problems).toEqual([
    expect.stringMatching(/on main/),
    'package.json: "next" is not a version',
    'package-lock.json has version 0.2.0, package.json next',
  ])
})
