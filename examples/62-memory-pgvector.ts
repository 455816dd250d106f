/**
 * Memory over sessions by meaning: what a user said on Monday is found on Tuesday by its likeness, in PostgreSQL with
 * pgvector. Here the database is PGlite, PostgreSQL in this process; with `VECTOR_DATABASE_URL` it is a server of
 * yours. The vectors are counted words, so that it runs without a provider.
 */
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { agent, createRuntime, unwrap } from 'reeve'
import { pgvectorMemory } from 'reeve/pgvector'

const { VECTOR_DATABASE_URL: url } = process.env
await using pool = url === undefined ? await PGlite.create({ extensions: { vector } }) : undefined
const database = pool === undefined ? { url: url! } : { pool }

/** One number for each of 256 groups of words: how many words of the text are in it. */
const embed = (texts: readonly string[]): number[][] =>
  texts.map((text) => {
    const counts = Array.from({ length: 256 }, () => 0)
    for (const word of text.toLowerCase().match(/\w+/g) ?? [])
      counts[[...word].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) % 256, 7)]! += 1
    return counts
  })

const chat = agent({
  name: 'chat',
  model: ({ messages }) => messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n'),
})

// #region memory
await using memory = await pgvectorMemory({
  ...database, // { url: 'postgres://…' }, or { pool }
  dimensions: 256,
  embed, // or a model of the AI SDK: openai.embedding('text-embedding-3-small'), dimensions: 1536
  recall: { limit: 3 },
})
await using runtime = await createRuntime({ agents: [chat], memory })

await runtime.run(chat, 'My ship is called Argo.', { session: 'monday', user: 'ann' })
const answer = unwrap(await runtime.run(chat, 'What is my ship called?', { session: 'tuesday', user: 'ann' }))
const stranger = unwrap(await runtime.run(chat, 'What is my ship called?', { session: 'tuesday-2', user: 'bob' }))
// #endregion
console.log(answer)
assert.match(answer, /^\[memory: .*\n\{"date":"\d{4}-\d\d-\d\d","user":"My ship is called Argo\."/)
assert.equal(stranger, 'What is my ship called?')

// #region forget
const deleted = await memory.forget({ user: 'ann' })
// #endregion
console.log(deleted, 'turns of ann deleted')
assert.equal(deleted, 2)
