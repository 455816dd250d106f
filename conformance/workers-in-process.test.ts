/** The worker contract over agents of other frameworks in this process, with the real packages. */
import { aiSdk, aiSdkStepwise } from './workers/ai-sdk.ts'
import { langGraph } from './workers/langgraph.ts'
import { mastra } from './workers/mastra.ts'
import { openAI, openAIStepwise } from './workers/openai-agents.ts'
import { report } from './worker-report.ts'

report({
  'AI SDK agent': aiSdk,
  'AI SDK agent, maxSteps': aiSdkStepwise,
  'LangGraph graph': langGraph,
  'OpenAI agent': openAI,
  'OpenAI agent, maxSteps': openAIStepwise,
  'Mastra agent': mastra,
})
