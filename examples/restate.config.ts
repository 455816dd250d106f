/**
 * A config for workers and for the command line on Restate: it exports an engine instead of a store. Importing it opens
 * nothing.
 */
import { agent, supervisor } from 'reeve'

const writer = agent({ name: 'writer', description: 'Writes one paragraph.', model: 'openai/gpt-5-mini' })
const newsroom = supervisor({ name: 'newsroom', workers: [writer], model: 'anthropic/claude-sonnet-4-5' })

// #region config
import { restate } from 'reeve/restate'

export const engine = () => restate({ store: 'runs.db' })
export const agents = [newsroom]
// #endregion
