/**
 * A config for workers and for the command line on PostgreSQL, where more is to be said than an address. Importing it
 * opens nothing.
 */
import { agent, supervisor } from 'reeve'

const writer = agent({ name: 'writer', description: 'Writes one paragraph.', model: 'openai/gpt-5-mini' })
const newsroom = supervisor({ name: 'newsroom', workers: [writer], model: 'anthropic/claude-sonnet-4-5' })

// #region config
import { postgres } from 'reeve/postgres'

const { DATABASE_URL: url = 'postgres://newsroom@db.example/reeve' } = process.env
export const engine = () => postgres({ url, schema: 'newsroom', poolSize: 8 })
export const agents = [newsroom]
// #endregion
