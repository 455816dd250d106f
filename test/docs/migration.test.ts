/**
 * Whoever comes from one of the four systems finds what they know: every name that its documents teach has a row in the
 * table of its page, or stands in one.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const names: Readonly<Record<string, { readonly page: string; readonly names: string }>> = {
  'Eino ADK': {
    page: 'coming-from-eino.md',
    names: `supervisor.New NewSupervisor SupervisorConfig SetSubAgents OnSubAgents OnSetSubAgents OnSetAsSubAgent OnDisallowTransferToParent
      WithDisallowTransferToParent AgentWithDeterministicTransferTo DeterministicTransferConfig ToAgentNames ResumableAgent ResumeInfo GenTransferMessages
      NewTransferToAgentAction NewExitAction NewBreakLoopAction NewSequentialAgent NewLoopAgent MaxIterations NewParallelAgent NewAgentTool EmitInternalEvents
      WithHistoryRewriter GetSessionValue GetSessionValues AddSessionValue AddSessionValues WithSessionValues ChatModelAgent ChatModelAgentConfig
      Runner Runner.Query EnableStreaming AsyncIterator AgentEvent RunPath OutputKey Interrupt`,
  },
  Mastra: {
    page: 'coming-from-mastra.md',
    names: `onDelegationStart modifiedPrompt modifiedMaxSteps rejectionReason onDelegationComplete feedback bail() messageFilter primitiveId iteration
      includeSubAgentToolResultsInModelContext subAgentToolResults onIterationComplete maxIterations finishReason isTaskComplete onComplete maxSteps
      requireApproval suspend() tool-call-approval createTool createScorer generateScore backgroundTasks streamUntilIdle versions published versionId
      defaultOptions LibSQLStore Memory thread resource generate() stream() textStream fullStream`,
  },
  LoomFlow: {
    page: 'coming-from-loomflow.md',
    names: `Supervisor( delegate forward_message instructions_template {worker_descriptions} delegate_tool_name forward_tool_name declared_workers add_worker remove_worker
      base= ReAct Reflexion supervisor.workers_ready supervisor.forwarded supervisor.completed session_id user_id metadata journal`,
  },
  Shannon: {
    page: 'coming-from-shannon.md',
    names: `SupervisorWorkflow DAGWorkflow SimpleTask isSimpleTask agent_types mailbox_v1 getMailbox recruit_v1 listTeamAgents findTeamAgentsByRole maxTeamSize
      RegisterChildWorkflow childResults`,
  },
  'Shannon, chapter 15.12': {
    page: 'coming-from-shannon.md',
    names: `human_in_command human_in_the_loop human_on_the_loop ConfidenceThreshold SingleActionCostLimit SensitiveActions ConsecutiveFailures DecisionTimeout
      ShouldEscalate RequiresApproval RiskLevel Required ApprovalRequest ApprovalResponse NotifyForApproval human_takeover_v1 TakeoverContext handed_to_human
      TrustLevel trustUpgradeRules`,
  },
}

test.each(Object.entries(names))(
  'every name that the documents of %s teach is in its table',
  (_system, { page, names: list }) => {
    const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'how-to', page), 'utf8')
    const rows = text.split('\n').filter((line) => line.startsWith('|'))
    const first = rows.map((row) => row.split(' | ')[0]!).join('\n')
    expect(list.split(/\s+/).filter((name) => !first.includes(name))).toEqual([])
  },
)

test.each(['mastra', 'langgraph', 'openai-agents', 'ai-sdk'])(
  'the page for users of %s has both programs and says how long they are',
  (system) => {
    const page = readFileSync(join(import.meta.dirname, `../../docs/how-to/coming-from-${system}.md`), 'utf8')
    const programs = [...page.matchAll(/<!-- conformance: migration\/support\.([\w-]+)\.ts -->\n```ts\n([^]*?)\n```/g)]
    expect(programs.map(([, name]) => name)).toEqual([system, 'reeve'])
    const told = [...page.matchAll(/^\| (?:before|after) \| (\d+) \|/gm)].map(([, lines]) => Number(lines))
    expect(told).toEqual(programs.map(([, , code]) => code!.split('\n').filter((line) => line.trim() !== '').length))
  },
)
