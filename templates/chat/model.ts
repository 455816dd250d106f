/** Which model decides: that of a key in the environment, else rules, which need neither key nor network. */
import type { ModelFunction, ModelRef } from 'reeve'

/** The models by the name of their key. Each needs the package of its provider, such as `@ai-sdk/openai`. */
const models: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: 'openai/gpt-5-mini',
  ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5-5',
}
const [key, id] = Object.entries(models).find(([name]) => process.env[name]) ?? []

/** What decides, for people. */
export const modelUsed = id === undefined ? 'rules, as no key of a model in model.ts is set' : `${id}, as ${key} is set`

/** The model, or these rules. */
export const modelOr = (rules: ModelFunction): ModelRef => id ?? rules
