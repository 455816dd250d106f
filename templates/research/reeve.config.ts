/** What `reeve dev` and `npm start` run: the store and the agents. */
import { modelOr, modelUsed } from './model.ts'
import { researchWith, rules } from './team.ts'

console.error(`model: ${modelUsed}`)

export const store = './reeve.db'
export const lead = researchWith({ lead: modelOr(rules.lead), researcher: modelOr(rules.researcher) })
export const agents = [lead]
