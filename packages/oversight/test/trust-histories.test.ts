/**
 * Records of trust against the rules as the book has them, by random histories: counts, levels, one rise at a time,
 * incidents, what is missing first. Spec team 1.18, R-18, C91 to C95.
 */
import { expect, test } from 'vitest'
import { canUpgrade, modeOfLevel, recordIncident, trustPresets } from '@reeve/public/oversight'
import { seededRandom } from '@reeve/core'
import { newTrust, recordRun, setLevel } from '../src/trust/trust-record.ts'

const day = 86_400_000
const levels = ['novice', 'proficient', 'expert'] as const
const [order, modes] = [
  ['tasks', 'success_rate', 'days', 'incident'],
  { novice: 'in-command', proficient: 'in-the-loop', expert: 'on-the-loop' },
] as const

interface Model {
  level: number
  completed: number
  succeeded: number
  since: number
  incident: number | undefined
}

/** What is missing first, written down as the table says it. */
function missing(
  { level, completed, succeeded, since, incident }: Model,
  now: number,
  preset: keyof typeof trustPresets,
): string | undefined {
  if (level === 2) return 'already_at_highest'
  const need = trustPresets[preset][level === 0 ? 'proficient' : 'expert']
  const short = [
    completed < need.tasks,
    // integers: no rate is rounded
    succeeded * 100 < Math.round(need.rate * 100) * completed,
    Math.trunc((now - since) / day) < need.days,
    incident !== undefined && Math.trunc((now - incident) / day) < need.incidentDays,
  ]
  return order[short.indexOf(true)]
}

test.each(['standard', 'conservative'] as const)(
  'R-18: 60 random histories of 400 words each, by the %s rules',
  (preset) => {
    let [rises, falls, again] = [0, 0, false]
    for (let history = 0; history < 60; history++) {
      let drawn = 0
      const random = (): number => seededRandom(`${preset} ${history}`, drawn++)
      let now = 1_800_000_000_000
      let record = newTrust(now)
      const model: Model = { level: 0, completed: 0, succeeded: 0, since: now, incident: undefined }
      const good = 0.88 + random() * 0.13
      for (let n = 0; n < 400; n++) {
        now += Math.floor(random() * random() * 1.5 * day)
        const what = random()
        if (what < 0.004) {
          record = recordIncident(record, 'serious', now)
          Object.assign(model, { level: 0, completed: 0, succeeded: 0, since: now, incident: now })
          falls++
        } else if (what < 0.008) {
          record = recordIncident(record, 'minor', now)
          model.incident = now
        } else if (what < 0.01) {
          model.level = Math.floor(random() * 3)
          record = setLevel(record, levels[model.level]!, now)
        } else {
          const succeeded = random() < good
          record = recordRun(record, { run: `run_${n}`, succeeded }, now, preset)
          // the same run again is none
          again ||= recordRun(record, { run: `run_${n}`, succeeded: !succeeded }, now + day, preset) !== record
          model.completed++
          model.succeeded += succeeded ? 1 : 0
          if (missing(model, now, preset) === undefined) {
            model.level++
            rises++
          }
        }
        const { level, completed, succeeded } = record
        expect([level, completed, succeeded], `${history} ${n}`).toEqual([
          levels[model.level],
          model.completed,
          model.succeeded,
        ])
        const word = canUpgrade(record, now, preset)
        expect(word.ok ? undefined : word.reason.code, `${history} ${n}`).toBe(missing(model, now, preset))
        const rates = word.ok || word.reason.code !== 'success_rate' ? [] : word.reason.message.match(/[\d.]+ %/gu)!
        expect(new Set(rates).size).toBe(rates.length) // never 90.0 of 90.0
        expect(modeOfLevel(level)).toBe(modes[level])
      }
    }
    expect(again).toBe(false)
    expect(Math.min(rises, falls)).toBeGreaterThan(10)
  },
)
