/** Reeve's own part: the team as docs/how-to/supervisors.md writes it, over the same wire as its peers. */
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import { resolveModel } from '@reeve/model'
import { z } from 'zod'
import { startModel, type Asked } from '../killed/model.ts'
import { answerOf } from './script.ts'
import { leader, lookUp, task, workers } from './texts.ts'

/** All that the models of one run are sent. */
export async function requestsOfReeve(): Promise<readonly Asked[]> {
  const requests: Asked[] = []
  const server = await startModel(answerOf, (asked) => void requests.push(asked))
  try {
    const look = tool({
      name: lookUp.name,
      description: lookUp.description,
      input: z.object({ what: z.string() }),
      effect: 'read',
      execute: lookUp.find,
    })
    const at = { 'openai-chat': server.url }
    const model = resolveModel('openai-chat/fake', { env: {}, baseURLs: at, apiKeys: { 'openai-chat': 'no-key' } })
    const team = supervisor({
      ...leader,
      model,
      workers: workers.map((worker) => agent({ ...worker, model, tools: [look] })),
      limits: { turns: 100 },
    })
    await using runtime = await createRuntime({ agents: [team] })
    const outcome = await runtime.run(team, task)
    if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
    return requests
  } finally {
    server.stop()
  }
}
