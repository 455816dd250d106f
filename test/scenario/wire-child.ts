/** A process that drives the team of the wires until somebody kills it. Arguments: the store, the wire, the server. */
import { createRuntime } from '@reeve/runtime'
import { wires } from '../../packages/model/test/fake-llm.ts'
import { environmentOf, providerObject, teamOf } from './wire-team.ts'

const [file, name, url] = process.argv.slice(2) as [string, string, string]
Object.assign(process.env, environmentOf(url))
const wire = wires.find((each) => each.name === name)!
const team = teamOf({ lead: providerObject(wire, url), researcher: wire.model, writer: wire.model }, () => undefined)
const runtime = await createRuntime({ store: file, agents: [team] })
await runtime.run(team, 'A report on ravens, please.', { runId: 'report' })
