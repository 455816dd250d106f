/**
 * Random teams with mail, waits, recruits and retirements, whose process dies at some commit: the next one goes on,
 * everything still holds, and nothing recorded runs again. Spec team C30, C41, C100.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { checkJournal, manualClock, resume, teamScenario, verifyJournal, type ManualClock } from '@reeve/testing'
import { chaoticCrew, faults } from '../../packages/team/test/chaotic-crew.ts'

const from = Number(process.env['EXAM_FROM'] ?? 1)
const count = Number(process.env['EXAM_COUNT'] ?? 4)
const folder = mkdtempSync(join(tmpdir(), 'reeve-random-'))
afterAll(() => rmSync(folder, { recursive: true }))

const last = new WeakMap<ManualClock, { seen: string; looks: number }>()
/**
 * Time goes on when nothing else has for a while: members that wait for mail of each other look like members at work.
 */
async function outside(runtime: Runtime, clock: ManualClock): Promise<void> {
  const view = await runtime
    .handle('simulated')
    .view()
    .catch(() => undefined) // nothing is recorded yet
  const seen = JSON.stringify(view)
  const before = last.get(clock)
  if (before?.seen !== seen) last.set(clock, { seen, looks: 0 })
  else if (before.looks++ > 20) {
    before.looks = 0
    clock.advanceToNext()
  }
}

/** Plays until its process dies at this commit; false: it has ended before. */
async function dies(
  scenario: ReturnType<typeof teamScenario>,
  file: string,
  clock: ReturnType<typeof manualClock>,
  at: number,
): Promise<boolean> {
  let commits = 0
  let dead = false
  const crash = (point: string): boolean => (dead ||= point.startsWith('commit') && commits++ === at)
  const engine = createEmbeddedEngine({
    file,
    clock,
    strict: true,
    durability: 'relaxed',
    crash,
    onWarning: () => {},
  })
  let ended = false
  engine.drive(scenario.registry)
  const plays = async (): Promise<void> => {
    await engine.start(scenario.start)
    await engine.outcome(scenario.start.run)
    ended = true
  }
  plays().catch(() => undefined) // the dead hear nothing
  while (!dead && !ended) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!dead && !ended)
      await Promise.race([scenario.outside!(engine, clock), new Promise((resolve) => setTimeout(resolve, 50))])
  }
  await engine.close()
  if (!dead) return false
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM process') // the dead process is this one, which lives
  db.close()
  return true
}

test.each(Array.from({ length: count }, (_, i) => from + i))(
  'team C100: a random team dies at some commits, seed %d',
  async (seed) => {
    const { root, options } = chaoticCrew(seed, [])
    const made = teamScenario({ name: `random ${seed}`, agents: [root], input: 'Go', outside })
    const scenario = { ...made, registry: { ...made.registry, onMissingVersion: 'move' } as typeof made.registry }
    const wrong: string[] = []
    let deaths = 0
    for (let at = seed % 3; ; at += 5) {
      const file = join(folder, `${seed}-${at}.db`)
      const clock = manualClock()
      if (!(await dies(scenario, file, clock, at))) break
      deaths++
      const { events, repeated } = await resume(scenario, file, clock)
      const runtime = await createRuntime({ store: file, drive: false, agents: [] })
      const view = (await runtime.handle(scenario.start.run).view()).teams[0]!
      await runtime.close()
      const { problems } = await verifyJournal(events, scenario.registry)
      wrong.push(
        ...[...faults(events, view, undefined, options), ...checkJournal(events), ...problems, ...repeated].map(
          (each) => `dead at ${at}: ${each}`,
        ),
      )
    }
    expect(wrong).toEqual([])
    expect(deaths).toBeGreaterThan(1)
  },
  120_000,
)
