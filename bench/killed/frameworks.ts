/** What is compared: the pinned packages of each, and the pages that its program follows. */

/** A framework whose runs are killed. */
export interface Framework {
  /** The folder of its program. */
  readonly folder: string
  readonly name: string
  /** Name and exact version of each package; none for Reeve, which is the build of this repository. */
  readonly packages: Readonly<Record<string, string>>
  /** The command that builds the program, in its folder. */
  readonly build?: readonly string[]
  /** The package whose install script is run: it fetches or compiles its binary. */
  readonly native?: string
}

const zod = '4.6.7'

export const frameworks: readonly Framework[] = [
  { folder: 'reeve', name: 'Reeve', packages: {} },
  {
    folder: 'mastra',
    name: 'Mastra',
    packages: { '@mastra/core': '1.71.0', '@mastra/libsql': '1.23.1', zod },
  },
  {
    folder: 'langgraph',
    name: 'LangGraph',
    packages: {
      '@langchain/langgraph': '1.7.3',
      '@langchain/core': '1.4.0',
      '@langchain/openai': '1.6.0',
      '@langchain/langgraph-checkpoint-sqlite': '1.0.4',
      langchain: '1.5.14',
      zod,
    },
    native: 'better-sqlite3',
  },
  { folder: 'ai-sdk', name: 'AI SDK', packages: { ai: '7.0.173', '@ai-sdk/openai': '4.0.118', zod } },
  { folder: 'openai-agents', name: 'OpenAI Agents SDK', packages: { '@openai/agents': '0.20.0', zod } },
  {
    folder: 'eve',
    name: 'eve',
    packages: { eve: '0.80.1', 'just-bash': '3.4.2', ai: '7.0.173', '@ai-sdk/openai': '4.0.118', zod },
    build: ['node_modules/.bin/eve', 'build'],
  },
]
