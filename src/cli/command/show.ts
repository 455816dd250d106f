/** `reeve show`: one run as it is now. Owns: what of a view is told, in which order. */
import { describeOutcome, isObject, totalUsage, type Json, type Usage } from '../../core/index.ts'
import { answerCommand, answeredText, argumentsLine, shortly } from '../asking.ts'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { look } from '../store.ts'
import { answeredKey, treeLines } from '../tree.ts'
import type { ApprovalView, InterruptView, RunView, Runtime } from '../../runtime/index.ts'

/** Shows a run. */
export function show({ terminal, options, cwd }: CommandContext, id: string, { json = false }: { readonly json?: boolean }): Promise<Exit> {
  return look(options, cwd, async (runtime, place) => {
    const view = await runtime.handle(id).view()
    if (json) {
      terminal.line(JSON.stringify(view))
      return exits.done
    }
    const where = whereOf(options)
    const answered = await answeredIn(view, runtime)
    const further = `not yet taken up: ${'engine' in place ? 'reeve work' : `reeve resume ${view.run}`}${where}`
    terminal.line(`${terminal.style('bold', view.run)}  ${view.status}  ${view.agent} ${view.version}`)
    terminal.line(`input: ${shortly(inputOf(view))}`)
    for (const line of treeLines(view, { now: Date.now(), columns: terminal.columns, style: terminal.style, answered })) terminal.line(line)
    for (const approval of view.approvals)
      terminal.line(approvalText(approval, answered.has(answeredKey(approval)) ? `decided, ${further}` : undefined, where))
    for (const interrupt of view.interrupts)
      terminal.line(interruptText(interrupt, answered.has(answeredKey(interrupt)) ? `answered, ${further}` : undefined, where))
    for (const { run, reason } of await runtime.runs({ status: ['stuck'] }))
      if (run === view.run && reason !== undefined) terminal.line(`stuck: ${reason}`)
    for (const doubt of view.doubts)
      terminal.line(`${doubt.kind}: ${doubt.address}${answered.has(answeredKey(doubt)) ? `: settled, ${further}` : ''}`)
    if (view.pause !== undefined) terminal.line(`paused${view.pause.reason === undefined ? '' : `: ${view.pause.reason}`}`)
    if (view.usage.length > 0) terminal.line(usageLine(view.usage))
    if (view.outcome?.status === 'completed') terminal.line(`output: ${shortly(view.outcome.output)}`)
    else if (view.outcome !== undefined) terminal.line(describeOutcome(view.outcome))
    return exits.done
  })
}

/** What the journal shows as open and the engine does not list any more: somebody's answer lies in the inbox of whoever drives the run next. */
async function answeredIn({ run, endedAt, approvals, interrupts, doubts }: RunView, runtime: Runtime): Promise<ReadonlySet<string>> {
  if (endedAt !== undefined) return new Set()
  const asked = [...[...approvals, ...interrupts].filter(({ open }) => open), ...doubts]
  const listed = new Set((await runtime.questions({ run })).map(answeredKey))
  return new Set(asked.map(answeredKey).filter((key) => !listed.has(key)))
}

function approvalText(approval: ApprovalView, decided: string | undefined, where: string): string {
  const { id, tool, risk, reason, open, resolution, approver } = approval
  const call = `${tool} with ${argumentsLine(approval.input)}`
  if (decided !== undefined) return `${id} ${call}: ${decided}`
  if (!open) return `${id} ${call}: ${resolution ?? 'answered'}${approver === undefined ? '' : ` by ${approver}`}`
  return `asks: ${call}\n  ${risk} risk: ${reason}\n  reeve approve ${id}${where}    (or: reeve reject ${id}${where})`
}

function interruptText({ id, question, open, outcome }: InterruptView, answered: string | undefined, where: string): string {
  if (answered !== undefined) return `${id} ${shortly(question)}: ${answered}`
  if (!open) return `${id} ${shortly(question)}: ${outcome === undefined ? 'closed' : answeredText(outcome)}`
  return `asks (${id}): ${shortly(question)}\n  ${answerCommand(id, where)}`
}

/** What the run was asked to do, without what else crosses to an agent. */
function inputOf({ input }: RunView): Json {
  const brief = isObject(input) ? input['brief'] : undefined
  if (!isObject(brief)) return input
  return brief['instructions'] ?? brief['input'] ?? input
}

function usageLine(usage: Usage): string {
  const { calls, input, output, usd, unknown, unpriced } = totalUsage(usage)
  if (usage.every(({ model }) => model.startsWith('rule/'))) return `${calls} decisions by rules, no model was called`
  const atLeast = unknown > 0 ? 'at least ' : ''
  const cost = unpriced === calls ? '' : `, ${unpriced > 0 ? 'at least ' : ''}$${usd.toFixed(4)}`
  return `${calls} model calls, ${atLeast}${input} tokens in, ${output} out${cost}`
}
