import { expect, test } from 'vitest'
import { createRuntime, registerAgents } from '../../src/runtime/index.ts'
import { spokenOf } from '../../src/journal/index.ts'
import { verifyJournal, simulate, teamScenario, AdversarialEngine } from '../../src/testing/index.ts'
import { team, promptProblems, type Opts } from './fuzz.ts'

const from = Number(process.env['FROM'] ?? 0), count = Number(process.env['COUNT'] ?? 200), mode = process.env['MODE'] ?? 'plain'
async function person(runtime: any) {
  for (const { id, kind } of await runtime.questions()) {
    const w = kind === 'approval' ? runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' }) : kind === 'interrupt' || kind === 'question' ? runtime.answer({ interruptId: id, value: 'yes' }) : runtime.settleDoubt({ id, happened: true, value: 'x' })
    await w.catch(() => undefined)
  }
}
test('fuzz', async () => {
  const stat: Record<string, number> = {}
  const bad: string[] = []
  for (let seed = from; seed < from + count; seed++) {
    const opts: Opts = { asks: seed % 3 === 0, fails: seed % 2 === 0, ends: seed % 5 !== 0, depth: 1 + (seed % 4) }
    let t
    try { t = team(seed, opts) } catch (e) { bad.push(`${seed} build: ${(e as Error).message.slice(0, 300)}`); continue }
    const { root, world, shape } = t
    const say = (what: string) => bad.push(`${seed} ${shape.slice(0, 400)}\n     ${what.slice(0, 900)}`)
    try {
      if (mode === 'simulate') {
        const report = await simulate(teamScenario({ agents: [root], input: 'go', outside: person, limits: { turns: 40, transfers: 12 } }), { points: ['append'] })
        for (const d of [...new Set(report.differences)].slice(0, 3)) say(d)
        for (const d of report.repeated.slice(0, 3)) say('repeated ' + d)
        stat[report.end.outcome.status] = (stat[report.end.outcome.status] ?? 0) + 1
        stat['points'] = (stat['points'] ?? 0) + report.points
        continue
      }
      const engine = mode === 'adversarial' ? new AdversarialEngine({ seed: String(seed) }) : undefined
      const runtime = await createRuntime({ agents: [root], ...(engine ? { engine } : { strict: true, onWarning: (w: any) => say('warning ' + JSON.stringify(w)) }) } as never)
      const run = await runtime.start(root, 'go', { limits: { turns: 60, transfers: 15 } })
      const live: any[] = []
      const reader = (async () => { for await (const m of run.messages()) live.push(m) })()
      let done = false
      const end = run.outcome().then((o) => { done = true; return o })
      const until = Date.now() + 15_000
      while (!done) { if (Date.now() > until) { say('does not end ' + JSON.stringify(await run.view()).slice(0, 600)); break } await person(runtime); await new Promise((r) => setTimeout(r, 2)) }
      if (!done) { await run.cancel('stuck'); }
      const outcome = await end
      await reader
      stat[outcome.status + (outcome.status === 'failed' ? ':' + outcome.failure.code : '')] = (stat[outcome.status + (outcome.status === 'failed' ? ':' + outcome.failure.code : '')] ?? 0) + 1
      if (outcome.status === 'failed' && !['agent.failed', 'model.failed', 'transfer.loop'].includes(outcome.failure.code)) say('outcome ' + JSON.stringify(outcome))
      if (outcome.status === 'failed' && outcome.failure.code === 'agent.failed' && !/threw/.test(outcome.failure.message)) say('outcome ' + JSON.stringify(outcome))
      if (outcome.status === 'failed' && outcome.failure.details?.['agent'] === undefined) say('unlabelled ' + JSON.stringify(outcome))
      if ('trail' in outcome) say('trail leaks')
      const events: any[] = []
      for await (const e of run.events()) events.push(e)
      const report = await verifyJournal(events, registerAgents([root], [], 'park'))
      for (const p of report.problems.slice(0, 3)) say('replay ' + p)
      const all = spokenOf(events)
      if (JSON.stringify(all) !== JSON.stringify(live)) say('live messages differ')
      // messages: each model answer heard once; each call has a result
      const answers = events.filter((e) => e.event.type === 'step.settled' && e.event.usage !== undefined && e.event.outcome.status === 'completed').length
      const heard = all.filter((m) => m.type === 'assistant').length
      const openCalls = new Map<string, number>()
      for (const m of all) {
        const k = (id: string) => `${m.path.join('/')}|${id}`
        if (m.type === 'assistant') for (const c of m.calls ?? []) openCalls.set(k(c.id), (openCalls.get(k(c.id)) ?? 0) + 1)
        if (m.type === 'tool' && m.callId !== undefined) openCalls.set(k(m.callId), (openCalls.get(k(m.callId)) ?? 0) - 1)
      }
      for (const [k, v] of openCalls) if (v !== 0) say(`messages: call ${k} balance ${v}; outcome ${JSON.stringify(outcome).slice(0, 300)}`)
      const texts = new Map<string, number>()
      for (const m of all) if (m.type === 'assistant' && m.text !== '') texts.set(`${m.agent} ${m.text}`, (texts.get(`${m.agent} ${m.text}`) ?? 0) + 1)
      for (const [k, v] of texts) if (v > 1) say(`messages: "${k}" said ${v} times`)
      for (const m of all) if (!m.inner && m.path[0] !== root.name) say('path ' + m.path.join('/'))
      for (const m of all) if (m.path.at(-1) !== m.agent) say(`agent ${m.agent} at path ${m.path.join('/')} (${m.type})`)
      // usage
      const byAgent = new Map<string, number>()
      for (const r of (outcome.usage as any).byAgent ?? outcome.usage as any) byAgent.set(r.agent, (byAgent.get(r.agent) ?? 0) + (r.calls ?? 0))
      if (process.env['SHOW']) console.log(JSON.stringify(outcome.usage).slice(0, 500), [...world.calls])
      for (const [a, k] of world.calls) if ((byAgent.get(a) ?? 0) !== k) say(`usage of ${a}: ${byAgent.get(a)} of ${k}`)
      for (const { agent, messages } of world.prompts) for (const p of promptProblems(agent, messages)) say('prompt ' + p)
      await runtime.close()
      void answers; void heard
    } catch (e) { say('thrown ' + ((e as Error).stack ?? String(e)).slice(0, 800)) }
  }
  console.log(JSON.stringify(stat), 'bad', bad.length)
  const seen = new Map<string, number>()
  for (const b of bad) { const k = b.split('\n').at(-1)!.replace(/<[^>]*>|[a-zA-Z]+\d+|act_\w+|call_\w+|\d+/g, '#').slice(0, 60); const c = seen.get(k) ?? 0; seen.set(k, c + 1); if (c < 3) console.log(b) }
  console.log([...seen].map(([k, v]) => `${v} ${k}`).join('\n'))
  expect(bad.length).toBe(0)
}, 600_000)
