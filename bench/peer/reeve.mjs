/**
 * Reeve as one adapter of the shared peer harness: a supervisor and its workers with scripted models, through the public door, from the built package.
 *
 * Run it from a copy of the harness: `npm run bench -- --extra <path of this file> --peers bare,reeve` (docs/performance.md has the whole command).
 */
import { join } from 'node:path'
import { agent, createRuntime, supervisor } from 'reeve'

/**
 * @typedef {(i: number) => string} At
 * @typedef {{ workers: readonly string[], supervisor(at: At, len: number): Promise<{ text?: string, calls?: { id: string, worker: string, task: string }[] }>, worker(at: At, len: number): Promise<{ text: string }>, workerStream(at: At, len: number): AsyncIterable<string> }} Script
 * @typedef {import('reeve').ModelRequest} ModelRequest
 */

/** @param {unknown} value */
const asText = (value) => (typeof value === 'string' ? value : '')

/** @param {ModelRequest['messages']} messages @returns {At} */
const textsOf = (messages) => (i) => asText(messages[i]?.content)

/** @param {{ script: Script, maxDelegations: number, stream?: boolean, durable?: { dir: string } }} options */
export async function create({ script, maxDelegations, stream: streaming = false, durable }) {
  /** @param {ModelRequest} request */
  const answer = async ({ messages }) => (await script.worker(textsOf(messages), messages.length)).text
  /** @param {ModelRequest} request */
  const stream = async ({ messages, emit }) => {
    let text = ''
    for await (const piece of script.workerStream(textsOf(messages), messages.length)) {
      text += piece
      emit?.({ type: 'text.delta', id: '0', text: piece })
    }
    return text
  }
  const workers = script.workers.map((name) =>
    agent({ name, description: 'does a task', model: streaming ? stream : answer }),
  )
  const lead = supervisor({
    name: 'lead',
    workers,
    limits: { turns: 2 * maxDelegations + 2 },
    model: async ({ messages }) => {
      const { text = '', calls = [] } = await script.supervisor(textsOf(messages), messages.length)
      return {
        text,
        calls: calls.map(({ id, worker, task }) => ({ id, name: 'delegate', input: { worker, instructions: task } })),
      }
    },
  })
  const runtime = await createRuntime({
    agents: [lead],
    ...(durable === undefined ? {} : { store: join(durable.dir, 'reeve.db') }),
  })
  /** @param {import('reeve').RunOutcome} outcome */
  const textOf = (outcome) => {
    if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
    return asText(outcome.output)
  }
  return {
    /** @param {{ id: string, prompt: string }} job */
    run: async ({ id, prompt }) => textOf(await runtime.run(lead, prompt, { runId: id })),
    /** @param {{ id: string, prompt: string }} job @param {(text: string) => void} onChunk */
    async stream({ id, prompt }, onChunk) {
      const run = await runtime.start(lead, prompt, { runId: id })
      await run.onPart(({ activation, part }) => {
        if (activation.includes('>') && typeof part === 'object' && part !== null && 'text' in part)
          onChunk(asText(part.text))
      })
      return textOf(await run.outcome())
    },
    /** @param {{ id: string }} job */
    resume: async ({ id }) => textOf(await runtime.handle(id).outcome()),
    close: () => runtime.close(),
  }
}
