/** `reeve show`: one run as it is now. Owns: what of a view is told, in which order. */
import { describeOutcome, totalUsage, type Usage } from '../../core/index.ts'
import { whereOf, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { look } from '../store.ts'
import { treeLines } from '../tree.ts'

/** Shows a run. */
export function show({ terminal, options, cwd }: CommandContext, id: string, { json = false }: { readonly json?: boolean }): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const view = await runtime.handle(id).view()
    if (json) {
      terminal.line(JSON.stringify(view))
      return exits.done
    }
    terminal.line(`${terminal.style('bold', view.run)}  ${view.status}  ${view.agent} ${view.version}`)
    for (const line of treeLines(view, { now: Date.now(), columns: terminal.columns, style: terminal.style })) terminal.line(line)
    for (const { id: approval, tool, reason, open, resolution, approver } of view.approvals) {
      terminal.line(
        open
          ? `asks: ${tool}: ${reason}\n  reeve approve ${approval}${whereOf(options)}`
          : `${approval} ${tool}: ${resolution ?? 'answered'}${approver === undefined ? '' : ` by ${approver}`}`,
      )
    }
    for (const { id: interrupt, question, open } of view.interrupts)
      if (open) terminal.line(`asks (${interrupt}): ${JSON.stringify(question)}`)
    for (const { run, reason } of await runtime.runs({ status: ['stuck'] }))
      if (run === view.run && reason !== undefined) terminal.line(`stuck: ${reason}`)
    for (const { kind, address } of view.doubts) terminal.line(`${kind}: ${address}`)
    if (view.pause !== undefined) terminal.line(`paused${view.pause.reason === undefined ? '' : `: ${view.pause.reason}`}`)
    if (view.usage.length > 0) terminal.line(usageLine(view.usage))
    if (view.outcome !== undefined) terminal.line(describeOutcome(view.outcome))
    return exits.done
  })
}

function usageLine(usage: Usage): string {
  const { calls, input, output, usd, unknown, unpriced } = totalUsage(usage)
  if (usage.every(({ model }) => model.startsWith('rule/'))) return `${calls} decisions by rules, no model was called`
  const atLeast = unknown > 0 ? 'at least ' : ''
  const cost = unpriced === calls ? '' : `, ${unpriced > 0 ? 'at least ' : ''}$${usd.toFixed(4)}`
  return `${calls} model calls, ${atLeast}${input} tokens in, ${output} out${cost}`
}
