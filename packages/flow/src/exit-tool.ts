/**
 * The exit tool: by which a model ends the whole run with an answer.
 *
 * Owns: its name and schema (those of the spec, collaboration 1.17). Does not own: what an exit does
 * (agent/tool/tool-actions.ts, control-loop.ts, fixed-order.ts).
 */
import { tool } from '@reeve/agent'

/** Ends the run with `final_result`, whatever would follow: returns by rule, later steps, other iterations. */
export const exitTool = tool({
  name: 'exit',
  description: 'Ends the whole work with this final result. Nobody is asked after it.',
  input: {
    type: 'object',
    properties: { final_result: { type: 'string', description: 'The final answer, complete in itself.' } },
    required: ['final_result'],
    additionalProperties: false,
  },
  effect: 'read',
  execute: (input) => (input as { readonly final_result: string }).final_result,
  action: 'exit',
})
