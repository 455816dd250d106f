/**
 * A folder that somebody else has made: what it brings along is data, and never runs, never holds up whoever looks at
 * it.
 */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { openFolder, surveyDependencies, surveyIsolated, surveyTodos } from '../src/survey/index.ts'
import { surveys } from '../src/survey/surveys.ts'
import { commit, git, plainFolder, write, type Files, type KnownFolder } from './folder.ts'

const made: KnownFolder[] = []
const folder = async (files: Files): Promise<KnownFolder> => {
  const one = await plainFolder(files)
  made.push(one)
  return one
}
afterEach(async () => {
  for (const one of made.splice(0)) await one.remove()
})

const now = Date.parse('2025-01-11T00:00:00Z')

/** Everything in a git directory by which git starts a command, each of which would leave a file behind. */
async function armed(gitDir: string, traces: string): Promise<void> {
  const script = join(traces, 'run.sh')
  await writeFile(script, `#!/bin/sh\necho "$0 $@" >> ${traces}/ran\ncat\n`)
  await chmod(script, 0o755)
  const set = (name: string, value = script): string =>
    execFileSync('git', ['config', '--file', join(gitDir, 'config'), name, value]).toString()
  for (const name of [
    'diff.evil.textconv',
    'diff.evil.command',
    'filter.evil.clean',
    'filter.evil.smudge',
    'filter.evil.process',
  ])
    set(name)
  for (const name of [
    'core.fsmonitor',
    'core.pager',
    'core.sshCommand',
    'core.editor',
    'core.askPass',
    'diff.external',
    'gpg.program',
  ])
    set(name)
  for (const name of [
    'credential.helper',
    'uploadpack.packObjectsHook',
    'interactive.diffFilter',
    'pager.blame',
    'pager.ls-files',
  ])
    set(name)
  set('alias.blame', `!${script}`)
  set('core.hooksPath', traces)
  set('core.alternateRefsCommand')
  set('include.path', join(traces, 'more'))
  await writeFile(join(traces, 'more'), `[diff "evil"]\n\ttextconv = ${script}\n`)
  for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout', 'fsmonitor-watchman']) {
    await writeFile(join(traces, hook), `#!/bin/sh\necho ${hook} >> ${traces}/ran\n`)
    await chmod(join(traces, hook), 0o755)
    await mkdir(join(gitDir, 'hooks'), { recursive: true })
    await writeFile(join(gitDir, 'hooks', hook), `#!/bin/sh\necho ${hook} >> ${traces}/ran\n`)
    await chmod(join(gitDir, 'hooks', hook), 0o755)
  }
  await mkdir(join(gitDir, 'info'), { recursive: true })
  await writeFile(join(gitDir, 'info', 'attributes'), '* filter=evil diff=evil\n')
}

const hostileFiles: Files = {
  'a.js': '// TODO: look\n',
  '.gitattributes': '* filter=evil diff=evil working-tree-encoding=UTF-8\n',
}

describe('what a folder brings along', () => {
  it('git never runs a repository’s filter, textconv, hook, monitor, alias or include; ages are still known', async () => {
    const { path } = await folder(hostileFiles)
    const traces = (await folder({})).path
    git(path, ['init', '-q'])
    commit(path, '2025-01-01T00:00:00Z')
    await armed(join(path, '.git'), traces)
    await write(path, { 'a.js': '// TODO: look\n// FIXME: new\n', 'b.js': '// TODO: untracked\n' })
    for (const survey of Object.values(surveys)) await survey(path, { now })
    const { todos } = await surveyTodos(path, { now })
    expect(existsSync(join(traces, 'ran'))).toBe(false)
    expect(todos.items.map(({ file, since, ageDays }) => [file, since, ageDays])).toEqual([
      ['a.js', '2025-01-01', 10],
      ['a.js', null, null],
      ['b.js', null, null],
    ])
  })

  it('is no repository for having the files of one: an embedded bare repository is not asked', async () => {
    const { path } = await folder({ 'docs/a.js': '// TODO: look\n', 'docs/.gitattributes': '*.js diff=evil\n' })
    const traces = (await folder({})).path
    const docs = join(path, 'docs')
    git(docs, ['init', '-q'])
    commit(docs, '2025-01-01T00:00:00Z')
    for (const name of ['HEAD', 'config', 'index', 'objects', 'refs'])
      await rename(join(docs, '.git', name), join(docs, name))
    await rm(join(docs, '.git'), { recursive: true })
    execFileSync('git', ['config', '--file', join(docs, 'config'), 'core.worktree', '.'])
    await armed(docs, traces)
    const { todos, coverage } = await surveyTodos(docs, { now })
    expect([coverage.source, todos.items.find(({ file }) => file === 'a.js')?.since]).toEqual(['folder', null])
    expect(existsSync(join(traces, 'ran'))).toBe(false)
  })

  it('a link or lock file that leads out of the folder is not followed', async () => {
    const outside = (
      await folder({ 'package.json': '{"name":"secret","version":"1.0.0","license":"GPL-3.0"}', 'page.md': '' })
    ).path
    const up = '../'.repeat(20)
    const { path } = await folder({
      'package.json': '{"dependencies":{"secret":"1.0.0"}}',
      'package-lock.json': JSON.stringify({
        lockfileVersion: 3,
        packages: { [`node_modules/secret/${up}..${outside}`]: { name: 'secret', version: '1.0.0' } },
      }),
      'node_modules/.keep': '',
    })
    await symlink(outside, join(path, 'node_modules', 'secret'))
    const { licences } = await surveyDependencies(path)
    expect(licences.counts.map(({ licence }) => licence)).not.toContain('GPL-3.0')
  })

  it('only regular files are read: pipes and devices block nothing and are named', async () => {
    const { path } = await folder({ 'a.ts': '', 'sub/x.ts': '' })
    for (const name of ['README.md', 'package-lock.json', 'Dockerfile', 'sub/.env'])
      execFileSync('mkfifo', [join(path, name)])
    await symlink('/dev/zero', join(path, 'zero.md'))
    const opened = await openFolder(path)
    expect(opened.files.map((file) => file.path)).toEqual(['a.ts', 'sub/x.ts'])
    expect(opened.coverage()).toMatchObject({
      unreadable: ['Dockerfile', 'README.md', 'package-lock.json', 'sub/.env'],
      symlinks: 1,
    })
  })

  it('is no repository where git would have to wait for it: pipes in the place of its files', async () => {
    const { path } = await folder({ 'a.js': '// TODO: x\n' })
    await mkdir(join(path, '.git'))
    for (const name of ['HEAD', 'config', 'shallow', 'commondir']) execFileSync('mkfifo', [join(path, '.git', name)])
    const { coverage, todos } = await surveyTodos(path, { now })
    expect([coverage.files, todos.items[0]?.since]).toEqual([1, null])
  })

  it('is read up to a number of bytes, and what was left out is said', async () => {
    const { path } = await folder({ 'a.ts': 'x'.repeat(60), 'b.ts': 'x'.repeat(60), 'c.ts': 'x'.repeat(60) })
    const { coverage } = await surveys.inventory(path, { limits: { maxTotalBytes: 130 } })
    expect([coverage.read, coverage.truncated]).toEqual([2, 'a worker reads 130 bytes; 1 file after that was not read'])
  })
})

describe('a survey in its thread', () => {
  // enough work for a thread that it is at it when it is looked at
  const heavy = JSON.stringify({
    dependencies: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`package-${n}`, '1'])),
  })

  it('gives up a file that takes too long, goes on without it, and names it', async () => {
    const { path } = await folder({ 'a/package.json': '{}', 'heavy/package.json': heavy })
    const findings = await surveyIsolated('dependencies', path, {}, { file: 100, folder: 60_000 })
    expect(findings.coverage.tooSlow).toContain('heavy/package.json')
  })

  it('fails with a reason where the folder takes too long', async () => {
    const { path } = await folder({ 'heavy/package.json': heavy })
    await expect(surveyIsolated('dependencies', path, {}, { file: 60_000, folder: 1 })).rejects.toThrow(
      'took longer than',
    )
  })

  it('leaves the caller’s thread free and ends when told, at any point', async () => {
    const { path } = await folder({ 'heavy/package.json': heavy })
    const stop = new AbortController()
    const looking = surveyIsolated('dependencies', path, { signal: stop.signal })
    setTimeout(() => stop.abort(new Error('Ctrl-C')), 0)
    await expect(looking).rejects.toThrow('Ctrl-C')
  })

  it('finds the same as without it', async () => {
    const { path } = await folder({ 'a.ts': '// TODO: x\n', 'README.md': '[x](none.md)\n' })
    for (const area of ['todos', 'dependencies', 'inventory'] as const)
      expect(await surveyIsolated(area, path, { now })).toEqual(await surveys[area](path, { now }))
  })

  it('returns no text of the folder longer than the limit', async () => {
    const { path } = await folder({
      'package.json': JSON.stringify({ name: 'x', dependencies: { ['y'.repeat(50_003)]: '1' } }),
    })
    const findings = await surveyIsolated('dependencies', path)
    expect(JSON.stringify(findings).length).toBeLessThan(10_000)
    expect(JSON.stringify(findings)).toContain('… (50003 characters)')
  })
})

describe('patterns of a workspace', () => {
  it('cost grows with pattern length times path length, for any pattern', async () => {
    const long = 'a'.repeat(200)
    const { path } = await folder({
      'package.json': JSON.stringify({
        workspaces: [`${'*'.repeat(150)}a`, `${'**/'.repeat(60)}x`, `${'*a'.repeat(80)}b`, 'packages/{one,two}-?'],
      }),
      [`${long}/${'b/'.repeat(20)}package.json`]: '{"name":"deep"}',
      [`${long}/package.json`]: '{"name":"starred"}',
      'packages/two-x/package.json': '{"name":"two"}',
      'packages/three-x/package.json': '{"name":"three"}',
    })
    const findings = await surveys.monorepo(path, {})
    expect(findings.area === 'monorepo' && findings.packages.items.map(({ name }) => name)).toEqual(['starred', 'two'])
  })
})
