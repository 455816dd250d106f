/**
 * The demo team, written as a user would write it, with public exports only.
 *
 * Owns: the members of the team, their tools, the one sensitive action. Does not own: the decisions (rules.ts), the
 * surveys (survey/).
 * Holds: every survey is one recorded `read` step. Writing the report is idempotent, so a kill during the write is
 * safe.
 */
import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agent, supervisor, tool, type Agent, type ModelRef } from '@reeve/public'
import { isolatedSurveys, type SurveyArea, type Surveys } from './survey/index.ts'
import { descriptions, firstTeam, specialists, toolName } from './areas.ts'
import { leaderRule, workerRule } from './rules.ts'
import { reportPath, type DemoSettings } from './settings.ts'

/** The name of the agent that leads. */
export const leaderName = 'surveyor'

/** True for the agent of a demo run. */
export const isDemoAgent = (name: string): boolean => name === leaderName

const week = 7 * 24 * 3_600_000
/** The maximum of listed findings: fewer for a model, which reads them all. */
const listedForModel = 25

/** The team for one folder. Throws `model.invalid-id` for an invalid model id. */
export function demoAgents(
  settings: Pick<DemoSettings, 'folder' | 'model'>,
  surveys: Surveys = isolatedSurveys,
): readonly Agent[] {
  const { folder, model } = settings
  const worker = (area: SurveyArea): Agent => surveyWorker(area, settings, surveys)
  return [
    supervisor({
      name: leaderName,
      description: 'Surveys a folder with a team and writes a report about it.',
      instructions: instructions(folder),
      model: model ?? (leaderRule as ModelRef),
      input: {
        type: 'object',
        properties: {
          folder: { type: 'string' },
          run: { type: 'string' },
          at: { type: 'string' },
          model: { type: 'string' },
        },
        required: ['folder', 'run', 'at'],
      },
      workers: firstTeam.map(worker),
      specialists: specialists.map(worker),
      tools: [writeReport(folder)],
      limits: { turns: 60 },
    }),
  ]
}

const instructions = (folder: string): string => `You lead a team that surveys the folder ${folder}.
1. In your first turn, delegate to every worker at once. Tell each the time "at" from your input, up to which ages are counted.
2. Read what the inventory found. If the folder is a workspace, recruit the specialist monorepo and delegate to it.
3. Write a report in Markdown with write_report: what needs attention first, then a section for each area with facts the workers found and nothing else.
   An area whose worker failed gets a section that says it could not be examined, and why.
4. Then answer with one sentence.`

function surveyWorker(
  area: SurveyArea,
  { folder, model }: Pick<DemoSettings, 'folder' | 'model'>,
  surveys: Surveys,
): Agent {
  const survey = tool({
    name: toolName(area),
    description: `${descriptions[area]} Looks at ${folder}.`,
    input: {
      type: 'object',
      properties: { at: { type: 'string', description: 'ISO 8601; ages are counted up to here' } },
    },
    effect: 'read',
    execute: (input, { signal }) => {
      const now = Date.parse((input as { readonly at?: string }).at ?? '')
      return surveys[area](folder, {
        signal,
        ...(Number.isNaN(now) ? {} : { now }),
        ...(model === undefined ? {} : { limits: { maxListed: listedForModel } }),
      })
    },
  })
  return agent({
    name: area,
    description: descriptions[area],
    instructions: `You survey ${folder}.`,
    model: workerRule(area),
    tools: [survey],
    output: { type: 'object' },
  })
}

function writeReport(folder: string) {
  const path = reportPath(folder)
  return tool({
    name: 'write_report',
    description: `Writes the report to ${path}. A human approves it first.`,
    input: {
      type: 'object',
      properties: { report: { type: 'string', description: 'the whole report, in Markdown' } },
      required: ['report'],
    },
    sensitive: true,
    effect: 'idempotent',
    approval: { reason: `writes ${path}`, risk: 'medium', timeoutMs: week },
    execute: async (input, { key }) => {
      const { report } = input as { readonly report: string }
      const drafts = join(folder, '.reeve')
      await mkdir(drafts, { recursive: true })
      if ((await lstat(drafts)).isSymbolicLink())
        throw new Error(`${drafts} is a link: the draft would be written to where it leads`)
      const draft = join(drafts, `REPORT.${key.replaceAll(/[^\w-]/g, '_').slice(-60)}.md`)
      await rm(draft, { force: true })
      await writeFile(draft, report, { flag: 'wx', flush: true })
      await rename(draft, path)
      return { written: path, bytes: Buffer.byteLength(report) }
    },
  })
}
