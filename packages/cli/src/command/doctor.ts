/**
 * `reeve doctor`: says what is wrong with an installation.
 *
 * Owns: the output, the exit code: 1 if anything does not work. Does not own: the checks (checkup.ts).
 */
import { visible } from '@reeve/core'
import { checkup, type Finding } from '../checkup.ts'
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'

const marks = { ok: ['green', '✓'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const

/** Checks the installation of this folder. */
export async function doctor(
  { terminal, cwd, options }: CommandContext,
  { json = false }: { readonly json?: boolean },
): Promise<Exit> {
  const findings: Finding[] = []
  for await (const finding of checkup({ ...options, cwd })) {
    findings.push(finding)
    if (json) continue
    const [colour, mark] = marks[finding.status]
    terminal.line(`${terminal.style(colour, mark)} ${finding.check.padEnd(10)}  ${visible(finding.message)}`)
    if (finding.hint !== undefined && finding.status !== 'ok')
      terminal.line(`  ${' '.repeat(10)}  ${visible(finding.hint)}`)
  }
  const failures = findings.filter(({ status }) => status === 'fail').length
  if (json) terminal.line(JSON.stringify({ ok: failures === 0, findings }))
  else if (failures > 0) terminal.note(`${failures} of ${findings.length} checks failed.`)
  return failures === 0 ? exits.done : exits.failed
}
