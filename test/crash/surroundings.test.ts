/** A store that cannot be opened says why and what to do, and is left byte for byte as it was. */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { begin, behind, errorOf, inFolder, launch, open, outcome, registry, step } from './hand.ts'

const counting = registry({
  counter: async (ctx) => [await step(ctx, 'one', () => 1), await step(ctx, 'two', () => 2)],
})

async function storeWithRuns(runs = 1): Promise<string> {
  const file = inFolder()
  const engine = open(file)
  engine.drive(counting)
  for (let k = 0; k < runs; k++) {
    await begin(engine, `r${k}`, 'counter', 'x'.repeat(2_000))
    await outcome(engine, `r${k}`)
  }
  await engine.close()
  return file
}

/** How opening fails, and whether the file is still what it was. */
async function refusal(
  file: string,
): Promise<{ code: string; saysWhich: boolean; saysWhatToDo: boolean; kept: boolean }> {
  const before = readFileSync(file)
  const { code, message, hint = '' } = await errorOf(() => open(file))
  return {
    code,
    saysWhich: message.includes(file),
    saysWhatToDo: hint.length > 20,
    kept: readFileSync(file).equals(before),
  }
}
const refused = (code: string) => ({ code, saysWhich: true, saysWhatToDo: true, kept: true })

describe('a file that is not a store', () => {
  test('text is refused and kept', async () => {
    const file = inFolder('notes.txt')
    writeFileSync(file, 'my shopping list\n'.repeat(100))
    expect(await refusal(file)).toEqual(refused('store.foreign'))
  })

  test('an SQLite database of another program is refused and kept', async () => {
    const file = inFolder('other.db')
    behind(file, (db) => db.exec('CREATE TABLE t(x); INSERT INTO t VALUES(1)'))
    expect(await refusal(file)).toEqual(refused('store.foreign'))
    expect(behind(file, (db) => db.prepare('SELECT x FROM t').get())).toEqual({ x: 1 })
  })

  test('an SQLite database with another program’s mark is refused, even if it is empty', async () => {
    const file = inFolder('other.db')
    behind(file, (db) => db.exec('PRAGMA application_id = 77; VACUUM'))
    expect(await refusal(file)).toEqual(refused('store.foreign'))
  })

  test('an empty file becomes a store', async () => {
    const file = inFolder()
    writeFileSync(file, '')
    const engine = open(file)
    engine.drive(counting)
    await begin(engine, 'r', 'counter')
    expect(await outcome(engine, 'r')).toEqual({ status: 'completed', output: [1, 2] })
  })
})

test('a store of a newer Reeve is refused and kept', async () => {
  const file = await storeWithRuns()
  behind(file, (db) => db.exec('PRAGMA user_version = 999'))
  expect(await refusal(file)).toEqual(refused('store.newer'))
  expect((await errorOf(() => open(file))).hint).toMatch(/[Uu]pgrade/)
})

test('K12: a store of tables that no upgrade leads from is refused and kept', async () => {
  const file = await storeWithRuns()
  behind(file, (db) => db.exec('PRAGMA user_version = 6'))
  expect(await refusal(file)).toEqual(refused('store.older'))
  expect((await errorOf(() => open(file))).hint).toMatch(/Nothing was changed/)
})

test('a store with a garbage header is refused and kept', async () => {
  const file = await storeWithRuns()
  overwrite(file, 0, Buffer.from('no longer SQLite format 3'))
  expect(await refusal(file)).toEqual(refused('store.foreign'))
})

test('a store whose schema page is damaged is refused as corrupt and kept', async () => {
  const file = await storeWithRuns()
  overwrite(file, 100, Buffer.alloc(900, 0xab))
  expect(await refusal(file)).toEqual(refused('store.corrupt'))
})

function overwrite(file: string, at: number, bytes: Buffer): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, bytes, 0, bytes.length, at)
  closeSync(handle)
}

describe('a path that cannot be', () => {
  test('a folder', async () => {
    const file = inFolder()
    mkdirSync(file)
    const error = await errorOf(() => open(file))
    expect(error).toMatchObject({ code: 'store.unavailable', retryable: false, hint: expect.any(String) as string })
  })

  test('a file in a folder that does not exist', async () => {
    const file = inFolder('none/store.db')
    const error = await errorOf(() => open(file))
    expect(error).toMatchObject({ code: 'store.unavailable', hint: expect.stringMatching(/folder/) as string })
    expect(existsSync(dirname(file))).toBe(false)
  })
})

// Whoever is root may write everywhere: these run as nobody.
describe.skipIf(process.getuid?.() !== 0)('as a user without rights', () => {
  test('a read-only store is refused at once, not at its first write', async () => {
    const file = await storeWithRuns()
    chmodSync(dirname(file), 0o777)
    chmodSync(file, 0o444)
    const before = readFileSync(file)
    const { line, lines } = launch('open-as-nobody', file)
    await line('done')
    expect(lines).toContain('store.read-only')
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  test('a store in a read-only folder says so', async () => {
    const file = await storeWithRuns()
    chmodSync(file, 0o666)
    chmodSync(dirname(file), 0o555)
    const { line, lines } = launch('open-as-nobody', file)
    await line('done')
    expect(lines[0]).toMatch(/^store\.(read-only|unavailable)$/)
  })
})

describe('a damaged page in the middle of a store', () => {
  test('reported as store.corrupt to its readers only, and stops no other run', async () => {
    const file = await storeWithRuns(30)
    // The page that holds the entries of one run in the middle.
    const { page, size } = behind(file, (db) => {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      const size = (db.prepare('PRAGMA page_size').get() as { page_size: number }).page_size
      const row = db
        .prepare(`SELECT pageno FROM dbstat WHERE name = 'log' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 10`)
        .get() as { pageno: number } | undefined
      return { page: row?.pageno ?? 0, size }
    })
    expect(page).toBeGreaterThan(0)
    overwrite(file, (page - 1) * size, Buffer.alloc(size, 0xcd))
    const engine = open(file)
    engine.drive(counting)
    const told = new Set<string>()
    let readable = 0
    for (let k = 0; k < 30; k++) {
      try {
        if ((await engine.read(`r${k}` as never)).length > 0) readable++
      } catch (thrown) {
        told.add((thrown as { code: string }).code)
      }
    }
    expect([...told]).toEqual(['store.corrupt'])
    expect(readable).toBeGreaterThan(20)
    await begin(engine, 'new', 'counter')
    expect(await outcome(engine, 'new')).toEqual({ status: 'completed', output: [1, 2] })
  })
})
