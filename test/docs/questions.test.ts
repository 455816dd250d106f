/**
 * Questions of new users, in their words. The index leads to the answer by one link, the search has it among the first
 * three, and the section says the thing itself.
 */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ManualSearch, pageOf, readManual } from '../../packages/manual/src/index.ts'

const root = join(import.meta.dirname, '..', '..')
const manual = readManual(root)
const search = new ManualSearch(manual)
afterAll(() => search[Symbol.dispose]())

interface Question {
  readonly ask: string
  /** Words in the row of the index that a user looks for. */
  readonly row: string
  /** The page, or the section, that answers. */
  readonly at: string
  /** What the answer says. */
  readonly says: readonly string[]
}

const questions: readonly Question[] = [
  {
    ask: 'How do I install Reeve and run a first program?',
    row: 'install',
    at: 'docs/how-to/install.md',
    says: ['npm i reeve zod', 'node team.ts'],
  },
  { ask: 'Which Node version do I need?', row: 'Node', at: 'docs/how-to/install.md', says: ['Node 24 or newer'] },
  {
    ask: 'Does it run on Bun, Deno, or with CommonJS require?',
    row: 'CommonJS',
    at: 'docs/how-to/runtimes-and-bundlers.md#runtimes',
    says: ['Bun', 'Deno', "`require('reeve')`"],
  },
  {
    ask: 'Can I bundle it with esbuild?',
    row: 'bundle',
    at: 'docs/how-to/runtimes-and-bundlers.md#bundlers',
    says: ['esbuild app.ts --bundle', 'Next.js'],
  },
  {
    ask: 'Does it run on Lambda, Vercel or Workers?',
    row: 'Lambda',
    at: 'docs/how-to/runtimes-and-bundlers.md#serverless',
    says: ['drive: false', 'Cloudflare Workers'],
  },
  {
    ask: 'How do I use it in Next.js?',
    row: 'Next.js',
    at: 'docs/how-to/server.md#in-another-host',
    says: ['route.ts', 'server.fetch'],
  },
  {
    ask: 'Is there a Dockerfile, Kubernetes, health checks and a graceful stop?',
    row: 'Kubernetes',
    at: 'docs/how-to/deploy.md#files-to-begin-with',
    says: ['Dockerfile', 'kubernetes.yaml', 'compose.yaml'],
  },
  {
    ask: 'How do I stop a process gracefully?',
    row: 'graceful',
    at: 'docs/how-to/deploy.md#how-a-process-ends',
    says: ['SIGTERM', 'graceMs'],
  },
  {
    ask: 'How do I use my own model or endpoint?',
    row: 'endpoint',
    at: 'docs/how-to/agents.md#agents-by-model',
    says: ['_BASE_URL', 'OpenAI-compatible'],
  },
  {
    ask: 'How do I set the price of my model?',
    row: 'prices',
    at: 'docs/how-to/models-in-production.md#prices',
    says: ['createRuntime({ prices })', 'US dollars for a million tokens', "'acme/desk'"],
  },
  {
    ask: 'How do I fall back to another model or provider?',
    row: 'fallback',
    at: 'docs/how-to/models-in-production.md#fallback-a-chain-of-models',
    says: ["model: ['openai/gpt-5', 'anthropic/"],
  },
  {
    ask: 'Does it use prompt caching?',
    row: 'prompt caching',
    at: 'docs/how-to/models-in-production.md#prompt-caching',
    says: ['settings: { cache: true }', 'cacheControl', 'promptCacheKey'],
  },
  {
    ask: 'What happens at rate limits, 429?',
    row: 'rate limits',
    at: 'docs/how-to/models-in-production.md#rate-limits',
    says: ['429', 'maxWaitMs'],
  },
  {
    ask: 'How do I give an agent a tool, and what is its effect class?',
    row: 'tools',
    at: 'docs/how-to/tools.md#effect-classes',
    says: ["'read'", "'idempotent'", "'once'"],
  },
  {
    ask: 'What happens when a tool returns too much text for the context?',
    row: 'large results',
    at: 'docs/how-to/large-results.md',
    says: ['read_large_result', 'resultTokens', '25,000'],
  },
  {
    ask: 'How do I store a large text of many MB in a run, and download it?',
    row: 'large texts',
    at: 'docs/how-to/large-texts.md',
    says: ['io.contents', 'reeve content <run> <name> > file'],
  },
  {
    ask: 'How does a tool return an image?',
    row: 'pictures',
    at: 'docs/how-to/pictures.md#in-the-result-of-a-tool',
    says: ['withFiles(', 'base64'],
  },
  {
    ask: 'How do I give a picture or a PDF to a worker?',
    row: 'pictures',
    at: 'docs/how-to/pictures.md#in-a-brief',
    says: ['files', 'ctx.delegate('],
  },
  {
    ask: 'How do I use hundreds of tools, is there a tool search?',
    row: 'hundreds of tools',
    at: 'docs/how-to/many-tools.md',
    says: ['searchable(', 'find_tools'],
  },
  {
    ask: 'Can the model do web search, and where are the citations?',
    row: 'search the web',
    at: 'docs/how-to/provider-tools.md',
    says: ['webSearch(', 'sources'],
  },
  {
    ask: 'How do I use the code interpreter of the provider?',
    row: 'run code',
    at: 'docs/how-to/provider-tools.md#which-tool',
    says: ['providerTool({ id:', 'code_interpreter'],
  },
  {
    ask: 'How do I run a tool in the browser of the user?',
    row: 'tools that run in the page',
    at: 'docs/how-to/client-tools.md',
    says: ['clientTool(', 'runClientTools'],
  },
  {
    ask: 'How do I put a supervisor over workers?',
    row: 'supervisor over workers',
    at: 'docs/how-to/supervisors.md',
    says: ['supervisor({', 'workers:'],
  },
  {
    ask: 'Which flow should I choose: supervisor, router or plan?',
    row: 'choose between',
    at: 'docs/explanation/collaboration.md',
    says: ['supervisor', 'router'],
  },
  {
    ask: 'How do I get a typed output?',
    row: 'typed input and output',
    at: 'docs/how-to/typed-input-and-output.md',
    says: ['output:', 'z.object('],
  },
  {
    ask: 'How do I build a pipeline or a loop until it is good enough?',
    row: 'pipeline',
    at: 'docs/how-to/fixed-order.md',
    says: ['until', "onBound: 'fail'"],
  },
  { ask: 'How do I run a team by a plan?', row: 'plan', at: 'docs/explanation/teams.md', says: ['team('] },
  {
    ask: 'How do I stream the answer to a terminal?',
    row: 'stream',
    at: 'docs/how-to/run-and-watch.md#at-a-terminal',
    says: ['run.messages()', 'run.text()'],
  },
  {
    ask: 'How do I ask for an approval, and what is its deadline?',
    row: 'approval',
    at: 'docs/how-to/approvals.md#approvals',
    says: ['sensitive: true', 'timeoutMs', 'no deadline'],
  },
  {
    ask: 'How do I approve many requests at once?',
    row: 'decide many approvals',
    at: 'docs/how-to/many-runs.md#many-approvals',
    says: ['npx reeve approve apr_1… apr_2…', 'runtime.decideAll'],
  },
  {
    ask: 'How are people told that an approval waits?',
    row: 'tell people',
    at: 'docs/how-to/notify-people.md',
    says: ['channels'],
  },
  {
    ask: 'How do I serve agents over HTTP?',
    row: 'HTTP',
    at: 'docs/how-to/server.md',
    says: ['createServer', 'listen'],
  },
  {
    ask: 'How do I authenticate callers, and how long is a token?',
    row: 'tokens',
    at: 'docs/how-to/security.md#tokens',
    says: ['24 characters', 'oidc()'],
  },
  {
    ask: 'How do I separate tenants?',
    row: 'tenant',
    at: 'docs/how-to/tenants.md',
    says: ['tenants'],
  },
  {
    ask: 'How do I use useChat?',
    row: 'useChat',
    at: 'docs/how-to/use-chat.md',
    says: ['useChat', 'DefaultChatTransport'],
  },
  {
    ask: 'How do I write a front end without the AI SDK?',
    row: 'front end',
    at: 'docs/how-to/client.md',
    says: ['createClient', 'questions.decide'],
  },
  {
    ask: 'How do I use MCP servers, and serve a team over MCP?',
    row: 'MCP',
    at: 'docs/how-to/mcp.md',
    says: ['mcp('],
  },
  {
    ask: 'How do I send traces to OpenTelemetry or Langfuse?',
    row: 'OpenTelemetry',
    at: 'docs/how-to/otel.md#set-up',
    says: ['Langfuse', 'liveTelemetry'],
  },
  { ask: 'How do I log what happens?', row: 'logger', at: 'docs/how-to/logs.md', says: ['logger', 'pino'] },
  {
    ask: 'How do I use PostgreSQL?',
    row: 'PostgreSQL',
    at: 'docs/how-to/engines.md#postgresql',
    says: ['postgres://', 'npm i pg'],
  },
  {
    ask: 'How do I upgrade Reeve and migrate the schema?',
    row: 'upgrade',
    at: 'docs/how-to/upgrade.md#how-a-store-is-upgraded',
    says: ['version'],
  },
  {
    ask: 'How do I make a backup?',
    row: 'backup',
    at: 'docs/how-to/operations.md#backup-restore-size',
    says: ['reeve backup'],
  },
  {
    ask: 'How do I delete the data of a user?',
    row: "delete a user's data",
    at: 'docs/how-to/delete-data.md',
    says: ['runtime.remove(run)'],
  },
  {
    ask: 'How do I keep secrets and PII out of the journal?',
    row: 'secrets',
    at: 'docs/how-to/secrets.md',
    says: ['redact'],
  },
  {
    ask: 'Why did my run fail?',
    row: 'why a run failed',
    at: 'docs/how-to/operations.md#why-a-run-failed',
    says: ['reeve runs --why', 'outcome.failure'],
  },
  {
    ask: 'How do I retry failed runs?',
    row: 'retry runs that failed',
    at: 'docs/how-to/fork-and-retry.md#retrying-a-run-that-failed',
    says: ['runtime.retry(run)', 'retry-run'],
  },
  {
    ask: 'How do I change a prompt and run the failed ones again?',
    row: 'with a changed prompt',
    at: 'docs/how-to/fork-and-retry.md#retrying-a-run-that-failed',
    says: ['a mended prompt is used', 'the model is asked again'],
  },
  {
    ask: 'What does each agent cost per day?',
    row: 'cost by agent and day',
    at: 'docs/how-to/runs-in-numbers.md#cost-by-agent-and-by-day',
    says: ['reeve runs --group agent,day'],
  },
  {
    ask: 'How do I try another prompt before I publish it?',
    row: 'try another prompt',
    at: 'docs/how-to/try-a-change.md#with-a-new-run',
    says: ['trial'],
  },
  {
    ask: 'How do I test agents without a model?',
    row: 'test a team without a model',
    at: 'docs/how-to/testing.md',
    says: ['scripted', 'simulate'],
  },
  {
    ask: 'How do I run evals over a dataset?',
    row: 'evaluation',
    at: 'docs/explanation/what-it-is-not.md#not-yet',
    says: ['datasets', 'reeve diff'],
  },
  {
    ask: 'How do I give agents memory over sessions?',
    row: 'memory over sessions',
    at: 'docs/how-to/sessions-and-values.md#memory-over-sessions',
    says: ['recall', 'save', 'pgvector'],
  },
  {
    ask: 'How do I use pgvector and embeddings?',
    row: 'vector stores',
    at: 'docs/how-to/sessions-and-values.md#memory-over-sessions',
    says: ['reeve/pgvector', 'embed', 'dimensions'],
  },
  {
    ask: 'How many reasoning tokens and cached tokens were used?',
    row: 'usage',
    at: 'docs/how-to/limits-and-usage.md#usage',
    says: ['reasoning', 'cacheWrite', 'totalUsage'],
  },
  {
    ask: 'How do I use RAG with a vector store?',
    row: 'vector stores',
    at: 'docs/how-to/sessions-and-values.md#memory-over-sessions',
    says: ['Retrieval over documents'],
  },
  {
    ask: 'How do I add guardrails?',
    row: 'guardrails',
    at: 'docs/how-to/guardrails.md',
    says: ['beforeModel', 'afterModel'],
  },
  {
    ask: 'How do I start a run by cron, on a schedule?',
    row: 'schedules',
    at: 'docs/explanation/what-it-is-not.md#not-yet',
    says: ['cron', 'runId'],
  },
  {
    ask: 'Why not Temporal, LangGraph or Mastra?',
    row: 'why not Temporal',
    at: 'README.md#beside-others',
    says: ['what it has that Reeve lacks'],
  },
]

/** Rows of the index: what is wanted, and the pages that it leads to. */
const rows = readFileSync(join(root, 'docs', 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => {
    const cells = line.split(' | ')
    const links = [...(cells[1] ?? '').matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => posix.join('docs', link!))
    return { wanted: cells[0]!, links }
  })

describe.each(questions)('$ask', ({ ask, row, at, says }) => {
  const path = at.split('#')[0]!

  test('the index leads there', () => {
    const found = rows.filter(({ links }) => links.includes(path)).map(({ wanted }) => wanted)
    expect(found.join('\n')).toContain(row)
  })

  test('the search finds it among the first three', () => {
    const found = search.find(ask, 3).map(({ address }) => (at.includes('#') ? address : address.split('#')[0]!))
    // where the beginning of the page is found, the reader sees its headings
    expect(
      [at, path].filter((address) => found.includes(address)),
      found.join(', '),
    ).not.toEqual([])
  })

  test('it is the answer', () => {
    const page = pageOf(manual, at)
    const text = at.includes('#') ? page?.section?.text : page?.text
    expect(text, at).toBeDefined()
    for (const each of says) expect(text).toContain(each)
  })
})

test('each question is asked once', () => {
  expect(new Set(questions.map(({ ask }) => ask)).size).toBe(questions.length)
})
