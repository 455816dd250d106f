/** The plan as Mermaid: whatever its texts are, every line is a node, an arrow or a style, and nothing else. */
import { expect, test } from 'vitest'
import { planGraph, type TeamView } from '@reeve/journal'
import { agent } from '@reeve/agent'
import { team } from '../src/index.ts'
import { staged } from './trace.ts'

const nasty = [
  '"]:::x\n  click t0 "javascript:alert(1)"', '%%{init: {}}%%', 'a-->b', '`**md**`', '<script>', '&lt;#quot;', 'end', 'subgraph', '\u2028--\u2029', '\u202eevil', '\ud83d', '__proto__', '#35;', ' ',
  '|"x"|', '\\n\\"', '```', '~~~', 'ä ☃ 日本語', 'x'.repeat(5_000), '-', '_a_', '1. one', '\u0000\u001b[31m', '￾',
] // prettier-ignore
const label = String.raw`(?:[\p{L}\p{M}\p{N} _,/·-]|�|#\d+;|<br/>)*`
const line = new RegExp(
  String.raw`^(?:flowchart LR|  t\d+\["${label}"\]:::[a-z_]+|  t\d+ (?:-->|-\.->\|"${label}"\|) t\d+|  classDef [a-z_]+ [\w:#,. -]+|  class t\d+(?:,t\d+)* recruited|)$`,
  'u',
)

test('no text of a plan is anything but a text', () => {
  const tasks = nasty.map((text, i) => ({ task: text, role: nasty[(i * 7 + 3) % nasty.length]!, status: (['pending', 'awaiting_approval', 'failed'] as const)[i % 3]!, dependencies: i === 0 ? [] : [nasty[i - 1]!], joined: [], ...(i % 4 === 1 ? { recruit: { by: nasty[(i * 5) % nasty.length]!, parent: nasty[0]!, join: 'run' } } : undefined) })) // prettier-ignore
  const topics = nasty.map((topic, i) => ({
    topic,
    producers: [nasty[i]!],
    consumers: [nasty[(i + 2) % nasty.length]!],
  }))
  const drawn = planGraph({ plan: { tasks }, members: [], topics } as unknown as TeamView)
  const lines = drawn.split('\n')
  expect(lines.filter((each) => !line.test(each))).toEqual([])
  expect(lines.filter((each) => / t\d+\[/.test(each))).toHaveLength(nasty.length)
  expect(drawn.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cs}]/u)
})

test('a team whose plan has such texts works, and is drawn', async () => {
  const ids = ['"]:::x', '__proto__', 'constructor', 'end', '<b>', '日本語', 'a|b', 'ＡＢＣ']
  const worker = agent({ name: 'worker', description: 'Works.', run: () => 'done' })
  const root = team({
    name: 'crew',
    roles: { generalist: worker },
    planner: {
      subtasks: ids.map((id, i) => ({
        id,
        description: id,
        role: ids[i]!,
        ...(i === 0 ? {} : { dependencies: [ids[i - 1]!] }),
        produces: [`t ${id}`],
      })),
    },
  })
  const stage = await staged(root)
  const { outcome } = await stage.end()
  expect(outcome).toMatchObject({
    status: 'completed',
    results: { coverage: { succeeded: ids.length, planned: ids.length } },
  })
  const view = (await stage.run.view()).teams[0]!
  expect(view.plan.tasks.map(({ task }) => task)).toEqual(ids)
  expect(
    planGraph(view)
      .split('\n')
      .filter((each) => !line.test(each)),
  ).toEqual([])
})
