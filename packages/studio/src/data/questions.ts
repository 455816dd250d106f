/** What waits for a person, for the inbox and for the shell that counts it. */
import { useQuery } from './queries.ts'
import { server } from './server.ts'

const limit = 200

export const useQuestions = () =>
  useQuery('questions', ['questions'], (signal) => server.questions.list({ limit, signal }))
