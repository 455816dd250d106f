/**
 * What `reeve resume <run>` needs to go on with a run of your own: the store, and the agents. Importing it runs
 * nothing.
 */
import { agent, supervisor } from 'reeve'

// #region config
const writer = agent({ name: 'writer', description: 'Writes one paragraph.', model: 'openai/gpt-5-mini' })

export const store = './reeve.db' // relative to this file
export const agents = [supervisor({ name: 'editor', workers: [writer], model: 'anthropic/claude-sonnet-4-5' })]
// #endregion
