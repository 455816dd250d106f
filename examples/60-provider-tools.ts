/** Tools that the provider runs: a search of the web, what it did, its sources, and what it cost. */
import assert from 'node:assert/strict'
import { agent, createRuntime, providerTool, webSearch } from 'reeve'
import { strictProvider } from 'reeve/testing'

// a provider on this machine, which searches as Anthropic does
await using provider = await strictProvider({
  preset: 'anthropic',
  answer: [
    {
      parts: [
        { type: 'ran', query: 'raven news', found: [{ url: 'https://example.com/ravens', title: 'Ravens' }] },
        { type: 'text', text: 'Ravens plan ahead.' },
      ],
    },
  ],
})
const model = provider.resolve()

// #region short
const reader = agent({
  name: 'reader',
  model, // 'anthropic/claude-sonnet-5', 'openai/gpt-5' or 'google/gemini-3.5-flash'
  tools: [webSearch({ maxUses: 5 })],
})
await using runtime = await createRuntime({ agents: [reader] })
const run = await runtime.start(reader, 'What do ravens do?')
// #endregion

// #region exact
const analyst = agent({
  name: 'analyst',
  model: 'anthropic/claude-sonnet-5',
  tools: [
    providerTool({ id: 'anthropic.web_search_20250305', args: { maxUses: 5, blockedDomains: ['example.org'] } }),
    providerTool({ id: 'anthropic.code_execution_20250825', costUsd: 0.01 }), // as your contract says
  ],
})
// #endregion
assert.deepEqual(
  analyst.tools?.().map(({ name }) => name),
  ['web_search', 'code_execution'],
)

// #region sources
const outcome = await run.outcome()
for await (const said of run.messages())
  if (said.type === 'assistant') {
    for (const { tool, input, summary } of said.ran ?? []) console.log(tool, input, summary)
    for (const { title, url } of said.sources ?? []) console.log(title, url)
  }
// #endregion
assert.equal(outcome.status === 'completed' && outcome.output, 'Ravens plan ahead.')
assert.deepEqual(provider.refused, [])
