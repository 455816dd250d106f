/** A sample of the campaign in which the power fails, and the disk (power/main.ts): all of it by `npm run test:power`. */
import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const sample = 3

/** Why it cannot be shown here, if so. */
function missing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux, whose linker puts a library below SQLite'
  try {
    execFileSync('gcc', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'needs gcc, to build what stands below SQLite'
  }
}

test('K5, K6: power losses, torn writes and failing disks lose nothing that was seen, and do nothing twice', async ({
  skip,
}) => {
  const why = missing()
  if (why !== undefined) return skip(why)
  const campaign = new URL('./power/main.ts', import.meta.url).pathname
  const played = ['--no-warnings', campaign, '--sample', `${sample}`]
  const { stdout } = await promisify(execFile)(process.execPath, played).catch((thrown: { stdout: string }) => thrown)
  expect(stdout.split('\n').filter((line) => !line.startsWith('ok'))).toContain('15 passed, 0 failed')
}, 300_000)

test('the campaign finds what is lost: with a durability of `relaxed` it fails', async ({ skip }) => {
  const why = missing()
  if (why !== undefined) return skip(why)
  const campaign = new URL('./power/main.ts', import.meta.url).pathname
  const relaxed = ['--no-warnings', campaign, '--sample', '40', '--only', 'loss', '--durability', 'relaxed']
  const failed = await promisify(execFile)(process.execPath, relaxed).catch((thrown: unknown) => thrown)
  expect((failed as { stdout: string }).stdout).toMatch(/FAIL power loss, unwatched, all that was not synced is gone/)
}, 300_000)
