/**
 * A process that runs one turn with a memory, says `saved` when the row is there, and never records that:
 * `memory-child.ts <store> <url> <schema> <table> <run>`.
 */
import { once } from 'node:events'
import { agent } from '@reeve/agent'
import { createRuntime } from '@reeve/runtime'
import { pgvectorMemory } from '../src/index.ts'
import { dimensions, words } from './words.ts'

const [store = '', url = '', schema = '', table = '', run = ''] = process.argv.slice(2)

const chat = agent({ name: 'chat', version: '1', model: () => 'Argo.' })
const memory = await pgvectorMemory({ url, schema, table, dimensions, embed: words })
const runtime = await createRuntime({
  store,
  agents: [chat],
  memory: {
    recall: memory.recall,
    async save(turn, io) {
      await memory.save(turn, io)
      process.stdout.write('saved\n')
      await once(process, 'disconnect') // never: it is killed
    },
  },
})
await runtime.start(chat, 'What is my ship called?', { user: 'ann', session: run, runId: run })
