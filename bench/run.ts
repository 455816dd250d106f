/**
 * Runs the benches, each in a process of its own, and prints their figures beside what they are measured against and
 * their budgets. `npm run bench -- [name …] [--json file]`; the package must be built. Measurements only:
 * nothing here fails because a machine is slow.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { machineSeconds, ownSeconds, type Row } from './measure.ts'

const benches = [
  'commit',
  'delegation',
  'cold',
  'growth',
  'load',
  'governor',
  'replay',
  'parts',
  'otel',
  'parked',
  'studio',
  'install',
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, child: { type: 'string' } },
})
if (values.child !== undefined) await child(values.child)
else parent(positionals.length === 0 ? benches : positionals)

async function child(name: string): Promise<void> {
  const bench = (await import(`./${name}.ts`)) as { run(): Promise<Row[]> }
  const [machine, own, begun] = [machineSeconds(), ownSeconds(), performance.now()]
  const rows = await bench.run()
  const others = Math.max(0, machineSeconds() - machine - (ownSeconds() - own)) / ((performance.now() - begun) / 1000)
  console.log(
    JSON.stringify([
      ...rows,
      { figure: `(${name}: CPUs used by others meanwhile)`, value: others, unit: `of ${cpus().length}` },
    ]),
  )
}

function parent(names: readonly string[]): void {
  for (const name of names)
    if (!benches.includes(name)) throw new Error(`there is no bench "${name}"; there are: ${benches.join(', ')}`)
  const rows = names.flatMap((name) => {
    console.error(`${name} …`)
    const text = execFileSync(
      process.execPath,
      ['--no-warnings', join(import.meta.dirname, 'run.ts'), '--child', name],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    return (JSON.parse(text.trim().split('\n').at(-1)!) as Row[]).map((row) => ({ bench: name, ...row }))
  })
  console.log(table(rows))
  if (values.json !== undefined)
    writeFileSync(
      values.json,
      JSON.stringify({ node: process.version, cpus: cpus().length, at: new Date().toISOString(), rows }, null, 2),
    )
}

function table(rows: readonly Row[]): string {
  const cells = [['figure', 'ours', 'beside it', 'ratio', 'budget', ''], ...rows.map(line)]
  const widths = cells[0]!.map((_, i) => Math.max(...cells.map((row) => row[i]!.length)))
  const lines = cells.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`)
  return [lines[0], `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...lines.slice(1)].join('\n')
}

function line({ figure, value, unit, side, budget }: Row): string[] {
  const ratio = side === undefined ? undefined : value / side.value
  const judged = budget?.of === 'ratio' ? ratio! : value
  const limits = [
    budget?.atMost === undefined ? [] : [`≤ ${budget.atMost}`],
    budget?.atLeast === undefined ? [] : [`≥ ${budget.atLeast}`],
  ].flat()
  const isMet = judged <= (budget?.atMost ?? Infinity) && judged >= (budget?.atLeast ?? -Infinity)
  return [
    figure,
    `${short(value)} ${unit}`.trim(),
    side === undefined ? '' : `${short(side.value)} (${side.what})`,
    ratio === undefined ? '' : short(ratio),
    `${limits.join(', ')}${budget?.of === 'ratio' ? ' ×' : ''}`,
    budget === undefined ? '' : isMet ? 'met' : 'not met',
  ]
}

function short(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()
}
