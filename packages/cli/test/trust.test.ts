/** `reeve trust`: how much is trusted and why no more, from a terminal that runs nothing. */
import { expect, test } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

const analyst = agent({
  name: 'analyst',
  description: 'Looks.',
  run: async () => 'done',
  oversight: { trust: 'analysts' },
})

test('a trust says what is missing in exact numbers; an incident and a level that is set say who and why', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [analyst] })
  expect(await reeve('trust')).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('No trust records yet') as string,
  })
  await runtime.trust.set({ trust: 'analysts', level: 'expert', by: 'eve', reason: 'known for years' })
  for (let n = 0; n < 3; n++) await runtime.run('analyst', 'go')
  const shown = await reeve('trust', 'analysts')
  expect(shown.code).toBe(0)
  expect(shown.out).toContain('analysts  expert (on-the-loop)  3 of 3 runs succeeded')
  expect(shown.out).toContain('set: novice > expert (eve): known for years')
  const incident = await reeve(
    'trust',
    'analysts',
    'incident',
    '--serious',
    '--note',
    'wrong figures',
    '--by',
    'ann',
    '--run',
    'run_1',
  )
  expect(incident.code).toBe(0)
  expect(incident.out).toContain(
    'analysts  novice (in-command)  0 of 0 runs succeeded\nnot yet proficient: 0 of 50 tasks\n',
  )
  expect(incident.out).toContain('serious incident: expert > novice (ann): wrong figures')
  expect(await runtime.trust.of('analysts')).toMatchObject({
    level: 'novice',
    history: [{}, {}, { severity: 'serious', run: 'run_1' }],
  })
  const set = await reeve('trust', 'analysts', 'set', '--to', 'proficient', '--note', 'reviewed', '--by', 'ann')
  expect(set.out).toContain('analysts  proficient (in-the-loop)')
  expect(await reeve('trust')).toMatchObject({
    code: 0,
    out: 'analysts  proficient (in-the-loop)  0 of 0 runs succeeded\n',
  })
  expect(JSON.parse((await reeve('trust', 'analysts', '--json')).out)).toMatchObject({
    name: 'analysts',
    next: { ok: false },
  })
})

test('what cannot be meant is wrong usage, and changes nothing', async () => {
  await using runtime = await createRuntime({ store: storeHere(), agents: [analyst] })
  const wrong: string[][] = [
    ['analysts', 'incident'],
    ['analysts', 'incident', '--serious', '--minor'],
    ['analysts', 'forget'],
    ['analysts', 'set', '--to', 'proficient'],
    ['analysts', 'set', '--to', 'wizard', '--note', 'x'],
  ]
  for (const args of wrong) expect((await reeve('trust', ...args)).code, args.join(' ')).toBe(2)
  expect((await reeve('trust', 'analysts', 'set', '--to', 'guru')).err).toMatch(
    /--to is "guru", expected novice, proficient, expert; --note is missing/,
  )
  expect((await reeve('trust', 'a/b')).code).toBe(2)
  expect(await runtime.trust.all()).toEqual([])
})
