/**
 * Writes `docs/reference/prompts.md`: every text that Reeve itself says to a model, as the model gets it. Small teams are run
 * with models that keep what they are asked; nothing is copied from the source by hand. `node scripts/prompts.ts`
 * writes the page, a test compares.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  agent,
  createRuntime,
  router,
  searchable,
  supervisor,
  team,
  tool,
  type Agent,
  type ModelAnswerInput,
  type ModelFunction,
  type ModelRequest,
} from '@reeve/public'
import { judge, ledger, roundtable } from '@reeve/public/team'

const page = join(dirname(import.meta.dirname), 'docs', 'reference', 'prompts.md')

/** One section of the page: who is asked what. */
interface Prompt {
  readonly title: string
  /** When a model gets it, and what changes it. */
  readonly about: string
  /** Runs something small and resolves to what the model was asked first. */
  readonly asked: () => Promise<ModelRequest>
}

type Script = readonly (string | ModelAnswerInput)[]

/** A model that follows a script and keeps what it is asked. */
function keeper(...script: Script): { readonly model: ModelFunction; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const model: ModelFunction = (request) => {
    requests.push({ ...request, messages: [...request.messages] })
    return script[requests.length - 1] ?? script.at(-1) ?? ''
  }
  return { model, requests }
}

/** What the model of an agent is asked first. */
function firstAsked(script: Script, make: (model: ModelFunction) => Agent): Promise<ModelRequest> {
  const { model, requests } = keeper(...script)
  return ran(make(model), requests)
}

const researcher = agent({
  name: 'researcher',
  description: 'Finds facts; returns bullet points with sources.',
  run: () => '- They plan ahead.',
})
const writer = agent({
  name: 'writer',
  description: 'Turns facts into a report of three paragraphs.',
  run: () => 'Ravens plan ahead.',
})

const prompts: readonly Prompt[] = [
  {
    title: 'A supervisor',
    about:
      'Behind the `instructions`. `guidance` replaces the first sentences; the list of workers stands where it says `{workers}`.',
    asked: () =>
      firstAsked(['Done.'], (model) =>
        supervisor({ name: 'newsroom', instructions: 'You run a newsroom.', workers: [researcher, writer], model }),
      ),
  },
  {
    title: 'A router',
    about: 'Behind the `instructions` of the lead, and of each worker that may hand control on by choice. It is fixed.',
    asked: () =>
      firstAsked(['Done.'], (model) =>
        router({
          name: 'desk',
          instructions: 'You answer questions about birds.',
          workers: [researcher, writer],
          model,
        }),
      ),
  },
  {
    title: 'A planner',
    about:
      'Of a `team`, where a model plans. `planner: { instructions }` stands before it; where a plan is impossible, the problems follow and the model is asked once more.',
    asked: () => {
      const plan = JSON.stringify({ subtasks: [{ id: 'a', description: 'Find facts.', role: 'researcher' }] })
      return firstAsked([plan, 'Done.'], (model) =>
        team({ name: 'analysts', roles: { researcher, writer, generalist: writer }, planner: { model } }),
      )
    },
  },
  {
    title: 'Who puts the results of a team together',
    about: 'Where `synthesize` is a model, or the team has a `model`.',
    asked: () =>
      firstAsked(['Done.'], (model) =>
        team({
          name: 'analysts',
          roles: { researcher, writer, generalist: writer },
          planner: {
            subtasks: [
              { id: 'facts', description: 'Find facts.', role: 'researcher' },
              { id: 'text', description: 'Write it up.', role: 'writer' },
            ],
          },
          synthesize: { model },
        }),
      ),
  },
  {
    title: 'Who chooses the next speaker of a round table',
    about: "`speaker: 'auto'`.",
    asked: () =>
      firstAsked([JSON.stringify({ speaker: 'writer' })], (model) =>
        roundtable({ name: 'panel', agents: [researcher, writer], speaker: 'auto', model, maxRounds: 1 }),
      ),
  },
  {
    title: 'A ledger: the facts',
    about:
      '`speaker: ledger({ model })`. The plan, the look at the progress and the answer are asked for in turns of their own.',
    asked: () =>
      firstAsked(['Nothing.'], (model) =>
        roundtable({ name: 'panel', agents: [researcher, writer], speaker: ledger({ model }), maxRounds: 1 }),
      ),
  },
  {
    title: 'An agent that searches its tools',
    about: '`searchable(tools)`. What is found is shown as any other tool.',
    asked: () => {
      const named = (name: string) => tool({ name, effect: 'read', execute: () => 'done' })
      const many = searchable(['archive_search', 'archive_read', 'mail_send'].map(named))
      return firstAsked(['Done.'], (model) => agent({ name: 'clerk', model, tools: [many] }))
    },
  },
  {
    title: 'A judge',
    about: '`judge({ model, criteria })`, as a scorer or for `reflect`.',
    asked: () => {
      const { model, requests } = keeper(JSON.stringify({ score: 1, reason: 'It is.' }))
      const isAboutRavens = judge({
        name: 'about_ravens',
        model,
        criteria: ['It is about ravens.', 'It is one paragraph.'],
      })
      return ran(
        agent({ name: 'poet', model: () => 'Ravens plan ahead.', isComplete: { scorers: [isAboutRavens] } }),
        requests,
      )
    },
  },
  {
    title: 'A summary of a long conversation',
    about: "`compaction`: the agent's own model is asked, where no function or agent makes the summary.",
    asked: () => {
      const look = tool({ name: 'look_up', effect: 'read', execute: () => 'Ravens plan ahead, and trade. '.repeat(8) })
      const { model, requests } = keeper(
        { calls: [{ name: 'look_up', input: {} }] },
        { calls: [{ name: 'look_up', input: {} }] },
        'They plan.',
      )
      const poet = agent({
        name: 'poet',
        instructions: 'You write.',
        model,
        tools: [look],
        compaction: { above: 60, keep: 1 },
      })
      return ran(poet, requests, ({ tools }) => tools.length === 0)
    },
  },
  {
    title: 'A result that is too large to show',
    about:
      'Of a tool, a worker or an agent as a tool ([large results](../how-to/large-results.md)). `resultTokens` says how much of it is shown; the tool that reads on is there from then on.',
    asked: () => {
      const { model, requests } = keeper({ calls: [{ name: 'look_up', input: {} }] }, 'They plan.')
      const look = tool({ name: 'look_up', effect: 'read', execute: () => 'Ravens plan ahead.\n'.repeat(1_000) })
      const poet = agent({
        name: 'poet',
        instructions: 'You write.',
        model,
        tools: [look],
        limits: { resultTokens: 100 },
      })
      return ran(poet, requests, ({ tools }) => tools.length > 1)
    },
  },
]

/** Runs it, and gives the first of the requests that is meant. */
async function ran(
  root: Agent,
  requests: readonly ModelRequest[],
  isMeant: (request: ModelRequest) => boolean = () => true,
): Promise<ModelRequest> {
  await using runtime = await createRuntime({ agents: [root], onWarning: () => {} })
  await runtime.run(root, 'Write a report on ravens.')
  const request = requests.find(isMeant)
  if (request === undefined) throw new Error(`no request of "${root.name}" is the one that is meant`)
  return request
}

function shown({ messages, tools }: ModelRequest): string {
  const said = messages.map(
    ({ role, content }) => `[${role}]\n${typeof content === 'string' ? content : JSON.stringify(content, null, 2)}`,
  )
  const offered = tools.map(({ name, description }) => `[tool ${name}]\n${description ?? ''}`)
  return ['````text', [...said, ...offered].join('\n\n'), '````'].join('\n')
}

/** The page as it is, and as it is to be. */
export async function promptsNowAndDue(): Promise<{ readonly now: string; readonly due: string }> {
  const sections: string[] = []
  for (const { title, about, asked } of prompts) sections.push(`## ${title}\n\n${about}\n\n${shown(await asked())}`)
  const due = `# What models are told

Every text that Reeve itself says to a model, as a model gets it: this page is made by running small teams (\`npm run docs:prompts\`), and a test holds it against what models are asked. Names, descriptions and
tasks in it are those of an example; everything else is Reeve's. What you choose with \`instructions\` always comes first.

How to write your own part: [Writing a good supervisor](../how-to/good-supervisor.md#writing-a-good-supervisor).

${sections.join('\n\n')}
`
  let now = ''
  try {
    now = readFileSync(page, 'utf8')
  } catch {
    // it is written for the first time
  }
  return { now, due }
}

if (import.meta.main) writeFileSync(page, (await promptsNowAndDue()).due)
