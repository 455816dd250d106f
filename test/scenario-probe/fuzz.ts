import { createHash } from 'node:crypto'
import { agent, breakLoop, exit, tool, transferTo, step, type Agent } from '../../src/agent/index.ts'
import { asTool, exitTool, loop, parallel, router, sequential } from '../../src/flow/index.ts'
import { interrupt } from '../../src/oversight/index.ts'
import type { Message, ModelRequest } from '../../src/model/index.ts'

export const h = (...parts: unknown[]): number => parseInt(createHash('sha1').update(JSON.stringify(parts)).digest('hex').slice(0, 8), 16)
export interface World { prompts: { agent: string; messages: Message[]; key: string; tools: string[] }[]; calls: Map<string, number>; n: number; opts: Opts; names: string[] }
export interface Opts { asks: boolean; fails: boolean; ends: boolean; depth: number; values?: boolean }

export function team(seed: number, opts: Opts): { root: Agent; world: World; shape: string } {
  let n = 0
  const world: World = { prompts: [], calls: new Map(), n: 0, opts, names: [] }
  let c = 0
  const rnd = (k: number) => h('build', seed, c++) % k
  const nm = (p: string) => { const x = `${p}${n++}`; world.names.push(x); return x }
  const tools = () => [
    tool({ name: 'echo', effect: 'read', execute: () => `echo` }),
    ...(opts.ends ? [exitTool, tool({ name: 'stop', effect: 'read', execute: () => 'stopping', action: 'break' }),
      tool({ name: 'near', effect: 'read', execute: () => 'near exit', action: { exit: 'supervisor' } }),
      tool({ name: 'ret', effect: 'read', execute: () => 'returned', action: 'return' })] : []),
    ...(opts.asks ? [tool({ name: 'ask', run: async (ctx) => interrupt(ctx, 'q?') }), tool({ name: 'pay', sensitive: true, effect: 'read', execute: () => 'paid' })] : []),
  ]
  const brainFor = (name: string, maxTransfers: number) => (req: ModelRequest) => {
    world.prompts.push({ agent: name, messages: structuredClone(req.messages) as Message[], key: req.key, tools: req.tools.map((t) => t.name) })
    world.calls.set(name, (world.calls.get(name) ?? 0) + 1)
    const d = h(seed, 'think', req.key)
    const tok = `<${name}:${createHash('sha1').update(req.key).digest('hex').slice(0, 8)}>`
    const usage = { input: 10, output: 1 }
    const offered = req.tools.map((t) => t.name)
    const xfer = req.tools.find((t) => t.name === 'transfer_to_agent')
    const own = req.messages.findLastIndex((m) => m.role !== 'tool' && m.role !== 'assistant')
    const mine = req.messages.slice(own).filter((m) => m.role === 'assistant').length
    const roll = d % 100
    if (opts.fails && roll > 95) throw new Error(`${name} broke`)
    if (mine >= 3) return { text: tok, usage }
    const calls: { name: string; input: object; id?: string }[] = []
    if (xfer && roll < 55) {
      const names = (xfer.parameters as any).properties.agent_name.enum as string[]
      calls.push({ name: 'transfer_to_agent', input: { agent_name: names[d % 7919 % names.length]!, ...(d % 3 === 0 ? { task: `task ${tok}` } : {}) } })
      if (d % 5 === 0) calls.unshift({ name: 'echo', input: {} })
      if (d % 11 === 0 && opts.ends) calls.push({ name: 'exit', input: { final_result: tok } })
    } else if (roll < 75) {
      const others = offered.filter((t) => t !== 'transfer_to_agent')
      const pick = others[d % 104729 % others.length]
      if (pick !== undefined) calls.push({ name: pick, input: pick === 'exit' ? { final_result: tok } : pick === 'delegate' ? {} : { request: tok } })
      if (d % 4 === 0) calls.push({ name: 'echo', input: {} })
    }
    const text = calls.length === 0 || d % 2 === 0 ? (d % 13 === 0 ? '' : tok) : ''
    return { text, calls, usage }
  }
  const leaf = (): Agent => {
    if (rnd(3) === 0) {
      const name = nm('C')
      return agent({ name, description: `Code ${name}`, run: async (ctx, _b, talk) => {
        const d = h(seed, ctx.place.activation)
        const tok = `<${name}:${createHash('sha1').update(ctx.place.activation).digest('hex').slice(0, 8)}>`
        if (opts.asks && d % 9 === 1) await interrupt(ctx, `${name}?`)
        if (d % 4 === 0) talk.say(`aloud ${tok}`)
        if (d % 5 === 0) await step(ctx, 's', () => 1)
        if (talk.candidates.length > 0 && d % 2 === 0) return transferTo(talk.candidates[d % 7919 % talk.candidates.length]!.name, d % 3 === 0 ? { output: tok } : d % 3 === 1 ? { task: `task ${tok}` } : {})
        if (opts.fails && d % 17 === 3) throw new Error(`${name} threw`)
        if (opts.ends && d % 13 === 4) return exit(tok)
        if (opts.ends && d % 13 === 5) return exit(tok, 'supervisor')
        if (opts.ends && d % 7 === 6) return breakLoop(tok)
        return d % 10 === 7 ? null : d % 10 === 8 ? { tok } : tok
      } })
    }
    const name = nm('M')
    return agent({ name, description: `Mind ${name}`, instructions: `I am ${name} {x}`, model: brainFor(name, 5), tools: tools(), limits: { turns: 6 } })
  }
  const edge = (names: string[]) => {
    const shares = rnd(4) === 0 ? 'answer' as const : 'conversation' as const
    const transfers = rnd(3) === 0 ? 'shown' as const : 'hidden' as const
    const context = (['conversation', 'conversation', 'conversation', 'answers', 'input', 'brief'] as const)[rnd(6)]!
    return { shares, transfers, context }
  }
  let shape = ''
  const node = (depth: number, many: boolean): [Agent, string] => {
    const kind = depth === 0 ? 0 : rnd(7)
    if (kind <= 1) { const l = leaf(); return [l, l.name] }
    const kids: [Agent, string][] = Array.from({ length: 1 + rnd(3) }, () => node(depth - 1, kind === 3))
    const agents = kids.map(([a]) => a)
    const inside = kids.map(([, s]) => s).join(',')
    const dup = rnd(5) === 0 && (kind === 2 || kind === 3 || kind === 4) ? [agents[0]!] : []
    if (kind === 2) { const name = nm('S'); return [sequential({ name, description: name, agents: [...agents, ...dup], edge: edge([]) }), `${name}[${inside}${dup.length ? ',^' : ''}]`] }
    if (kind === 3) { const name = nm('L'); return [loop({ name, description: name, agents: [...agents, ...dup], maxIterations: 1 + rnd(3), edge: edge([]) }), `${name}[${inside}${dup.length ? ',^' : ''}]`] }
    if (kind === 4) { const name = nm('P'); return [parallel({ name, description: name, agents: [...agents, ...dup], edge: edge([]) }), `${name}[${inside}${dup.length ? ',^' : ''}]`] }
    if (kind === 5) {
      const name = nm('T')
      return [agent({ name, description: `Tooler ${name}`, model: brainFor(name, 5), tools: [...tools(), ...agents.map((a) => asTool(a, { context: (['brief', 'answers', 'conversation'] as const)[rnd(3)]!, onFailure: rnd(3) === 0 ? 'fail' : 'tell' }))], limits: { turns: 6 } }), `${name}tools(${inside})`]
    }
    const name = nm('R')
    const names = agents.map((a) => a.name)
    const returns = (['always', 'always', 'on-request', 'never'] as const)[rnd(4)]!
    const followed = agents.length > 1 && rnd(3) === 0 ? { agents: { [names[0]!]: { followedBy: names.slice(1) } } } : {}
    const transfer = { ...edge([]), returns, onFailure: rnd(4) === 0 ? 'end' as const : 'tell' as const, ...followed }
    const facts = { name, description: `Router ${name}`, workers: agents, transfer: transfer as never }
    const r = rnd(4) === 0
      ? router({ ...facts, run: (ctx, _b, talk) => {
          const d = h(seed, 'lead', ctx.place.activation, ctx.place.path.join())
          const tok = `<${name}:${createHash('sha1').update(ctx.place.activation).digest('hex').slice(0, 8)}>`
          return d % 3 !== 0 && talk.candidates.length > 0 ? transferTo(talk.candidates[d % 7919 % talk.candidates.length]!.name, d % 2 ? { output: tok } : {}) : tok
        } })
      : router({ ...facts, model: brainFor(name, 8), tools: tools() })
    return [r, `${name}:${returns}{${inside}}${JSON.stringify(transfer)}`]
  }
  let made: [Agent, string]
  do { made = node(opts.depth, false) } while (/^[MC]\d+$/.test(made[1]))
  return { root: made[0], world, shape: made[1] }
}

/** Invariants of one prompt. */
export function promptProblems(agentName: string, messages: Message[]): string[] {
  const out: string[] = []
  const seen = new Map<string, number>()
  messages.forEach((m, i) => {
    if (m.role === 'system' && i > 0) out.push(`${agentName}: system at ${i}`)
    if (m.role !== 'tool' && typeof m.content === 'string' && m.content.trim() === '' && !(m.role === 'assistant' && (m.calls?.length ?? 0) > 0)) out.push(`${agentName}: empty ${m.role} at ${i}`)
    if (m.role === 'assistant' && (m.calls?.length ?? 0) > 0) {
      const ids = m.calls!.map((c) => c.id)
      const res = messages.slice(i + 1, i + 1 + ids.length)
      ids.forEach((id, k) => { const r = res[k]; if (r?.role !== 'tool' || r.callId !== id) out.push(`${agentName}: call ${id} at ${i} has no result in place`) })
    }
    if (m.role === 'tool') {
      let j = i - 1
      while (j >= 0 && messages[j]!.role === 'tool') j--
      const a = messages[j]
      if (a?.role !== 'assistant' || !a.calls?.some((c) => c.id === m.callId)) out.push(`${agentName}: orphan tool result at ${i}`)
    }
    const text = m.role === 'user' ? JSON.stringify(m.content) : m.role === 'assistant' ? m.content : ''
    if (/For context:"?$/.test(text)) out.push(`${agentName}: bare For context`)
    for (const t of text.match(/said: (aloud )?<[^>]+>/g) ?? []) seen.set(t, (seen.get(t) ?? 0) + 1)
    if (m.role === 'assistant') for (const t of text.match(/^(aloud )?<[^>]+>$/g) ?? []) { seen.set('said: ' + t, (seen.get('said: ' + t) ?? 0) + 1) }
  })
  for (const [t, k] of seen) if (k > 1) out.push(`${agentName}: "${t}" shown ${k} times`)
  return out
}
