/** `reeve/folder`: teams that are folders, one file for each agent and each tool. */
export {
  defineAgent,
  defineLeader,
  defineTool,
  type AgentFile,
  type CodeAgentFile,
  type CodeLeaderFile,
  type EffectToolFile,
  type FileTools,
  type LeaderFile,
  type OrchestrationToolFile,
} from './definition-file.ts'
export { isTeamFolder } from './folder-tree.ts'
export { loadTeam } from './load-team.ts'
export { placeOf } from './module-file.ts'
