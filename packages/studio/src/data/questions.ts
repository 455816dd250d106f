/** What waits for a person, for the inbox and for the shell that counts it. */
import { useQuery } from './queries.ts'
import { server } from './server.ts'

/** The most that the server gives at once. */
const limit = 1_000
/** A long list is read again at most so often. */
const longList = 200
const longListMs = 1_000

let nextAt = 0

async function readQuestions(signal: AbortSignal): ReturnType<typeof server.questions.list> {
  const wait = nextAt - Date.now()
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  const page = await server.questions.list({ limit, signal })
  nextAt = page.items.length > longList ? Date.now() + longListMs : 0
  return page
}

export const useQuestions = () => useQuery('questions', ['questions'], readQuestions)
