import { chmod, mkdir, rm, symlink } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openFolder, surveyInventory, surveyTodos } from '../src/survey/index.ts'
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
const paths = async (root: string, options = {}): Promise<string[]> =>
  (await openFolder(root, options)).files.map(({ path }) => path)

describe('the walk', () => {
  it('lists a plain folder sorted, without what no survey enters', async () => {
    const { path } = await folder({
      'b/z.ts': '',
      'b-a.ts': '',
      'a/REPORT.md': '',
      'REPORT.md': '',
      'node_modules/x/i.js': '',
      'a/node_modules/x.js': '',
      '.reeve/run.db': '',
      '.git-not/x': '',
    })
    expect(await paths(path)).toEqual(['.git-not/x', 'a/REPORT.md', 'b-a.ts', 'b/z.ts'])
  })

  it('does not follow symbolic links, in a circle or out of the folder', async () => {
    const { path } = await folder({ 'a/x.ts': '' })
    await symlink('..', join(path, 'a/up'))
    await symlink('/etc', join(path, 'etc'))
    const opened = await openFolder(path)
    expect(opened.files.map((file) => file.path)).toEqual(['a/x.ts'])
    expect(opened.coverage()).toMatchObject({ source: 'folder', symlinks: 2 })
  })

  it('does not follow a tracked path that has become a link', async () => {
    const { path } = await folder({ 'a/x.ts': '', 'b.ts': '' })
    const other = await folder({ 'x.ts': 'outside' })
    git(path, ['init', '-q'])
    commit(path, '2025-01-01T00:00:00Z')
    await rm(join(path, 'a'), { recursive: true })
    await symlink(other.path, join(path, 'a'))
    expect(await paths(path)).toEqual(['b.ts'])
  })

  it('says when a limit cut it, and which files were too large', async () => {
    const { path } = await folder({ 'a.ts': 'x'.repeat(100), 'b.ts': '', 'c.ts': '' })
    const { coverage } = await surveyInventory(path, { limits: { maxFiles: 2, maxBytes: 50 } })
    expect(coverage.files).toBe(2)
    expect(coverage.tooLarge).toEqual(['a.ts'])
    expect(coverage.truncated).toBe('only the first 2 files were examined; the rest of the folder was not')
    expect((await surveyInventory(path, { limits: { maxFiles: 3 } })).coverage.truncated).toBeNull()
  })

  it('cuts long lists but keeps the exact total', async () => {
    const { path } = await folder({ 'a.ts': '// TODO: x\n'.repeat(9) })
    const { todos } = await surveyTodos(path, { limits: { maxListed: 4 } })
    expect([todos.total, todos.items.length]).toEqual([9, 4])
  })

  it.skipIf(process.getuid?.() === 0)('names a folder it may not enter', async () => {
    const { path } = await folder({ 'shut/x.ts': '', 'a.ts': '' })
    await chmod(join(path, 'shut'), 0)
    const { coverage } = await surveyInventory(path)
    await chmod(join(path, 'shut'), 0o755)
    expect(coverage.unreadable).toEqual(['shut/'])
  })

  it('names a nested repository instead of entering it', async () => {
    const { path } = await folder({ 'a.ts': '', 'inner/b.ts': '' })
    git(path, ['init', '-q'])
    git(join(path, 'inner'), ['init', '-q'])
    commit(join(path, 'inner'), '2025-01-01T00:00:00Z')
    const opened = await openFolder(path)
    expect(opened.files.map((file) => file.path)).toEqual(['a.ts'])
    expect(opened.coverage().unreadable).toEqual(['inner/'])
  })

  it('walks an ignored part of a repository as a plain folder', async () => {
    const { path } = await folder({ '.gitignore': 'out/\n', 'out/a.ts': '// TODO: x\n' })
    git(path, ['init', '-q'])
    commit(path, '2025-01-01T00:00:00Z')
    const { coverage, todos } = await surveyTodos(join(path, 'out'), { now: 0 })
    expect([coverage.source, todos.total, todos.items[0]?.since]).toEqual(['folder', 1, null])
  })

  it('works without git on the machine', async () => {
    const { path } = await folder({ 'a.ts': '// TODO: x\n' })
    git(path, ['init', '-q'])
    commit(path, '2025-01-01T00:00:00Z')
    const before = process.env['PATH']
    process.env['PATH'] = join(path, 'nothing')
    try {
      const { coverage, todos } = await surveyTodos(path, { now: Date.now() })
      expect([coverage.source, todos.items[0]?.ageDays]).toEqual(['folder', null])
    } finally {
      process.env['PATH'] = before
    }
  })

  it('refuses what is no folder', async () => {
    const { path } = await folder({ 'a.ts': '' })
    await expect(surveyInventory(join(path, 'a.ts'))).rejects.toThrow('not a folder')
    await expect(surveyInventory(join(path, 'none'))).rejects.toThrow('not a folder')
  })

  it('is not misled by the caller’s own git environment', async () => {
    const { path } = await folder({ 'a.ts': '' })
    const other = await folder({ 'b.ts': '' })
    git(other.path, ['init', '-q'])
    commit(other.path, '2025-01-01T00:00:00Z')
    process.env['GIT_DIR'] = join(other.path, '.git')
    try {
      expect(await paths(path)).toEqual(['a.ts'])
    } finally {
      delete process.env['GIT_DIR']
    }
  })
})

describe('ages', () => {
  it('are unknown beyond the edge of a shallow clone', async () => {
    const { path } = await folder({ 'a.ts': '// TODO: old\n' })
    git(path, ['init', '-q'])
    commit(path, '2020-01-01T00:00:00Z')
    await write(path, { 'b.ts': '' })
    commit(path, '2025-01-01T00:00:00Z')
    const clone = await folder({})
    const target = join(clone.path, 'clone')
    await mkdir(target)
    execFileSync('git', ['clone', '-q', '--depth', '1', `file://${path}`, target])
    const now = Date.parse('2025-01-11T00:00:00Z')
    expect((await surveyTodos(path, { now })).todos.items[0]).toMatchObject({ since: '2020-01-01', ageDays: 1837 })
    expect((await surveyTodos(target, { now })).todos.items[0]).toMatchObject({ since: null, ageDays: null })
  })

  it('are unknown without a now, though the day is known', async () => {
    const { path } = await folder({ 'a.ts': '// TODO: old\n' })
    git(path, ['init', '-q'])
    commit(path, '2020-01-01T00:00:00Z')
    expect((await surveyTodos(path)).todos.items[0]).toMatchObject({ since: '2020-01-01', ageDays: null })
  })
})
