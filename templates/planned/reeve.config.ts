/** What `reeve dev` and `npm start` run: the store and the agents. */
import { modelOr, modelUsed } from './model.ts'
import { plannedWith, rules } from './team.ts'

console.error(`model: ${modelUsed}`)

export const store = './reeve.db'
export const analysts = plannedWith({
  planner: modelOr(rules.planner),
  analyst: modelOr(rules.analyst),
  writer: modelOr(rules.writer),
})
export const agents = [analysts]
