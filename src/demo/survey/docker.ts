/**
 * The specialist for Dockerfiles: a small set of rules with few false alarms.
 * Owns: reading instructions and the rules. Does not own: building or pulling anything. Base images are judged by their names alone.
 */
import { isDockerfile } from './languages.ts'
import { isSecretName, withoutSecrets } from './secret-rules.ts'
import {
  folderOf,
  linesOf,
  listed,
  nameOf,
  openFolder,
  under,
  type Coverage,
  type Folder,
  type Listed,
  type SurveyOptions,
} from './walk.ts'

/** The rules. */
export type DockerRule =
  | 'from-latest'
  | 'from-untagged'
  | 'no-user'
  | 'add-instead-of-copy'
  | 'apt-not-cleaned'
  | 'apt-update-alone'
  | 'secret-in-env'
  | 'secret-in-arg'
  | 'no-dockerignore'

/** A rule broken at a line (1-based; for a file-wide rule the line of the last stage's FROM, or of the first COPY). */
export interface DockerFinding {
  file: string
  line: number
  rule: DockerRule
  /** The image, path or variable concerned. Never a value of a variable. */
  subject: string
}

/** What the specialist for Dockerfiles found. */
export interface DockerFindings {
  area: 'docker'
  coverage: Coverage
  dockerfiles: { file: string; stages: number; baseImages: string[] }[]
  findings: Listed<DockerFinding>
}

interface Instruction {
  readonly name: string
  readonly args: string
  readonly line: number
}

interface Stage {
  readonly image: string
  readonly alias: string | null
  readonly line: number
  user: string | null
}

/** Checks every Dockerfile of the folder. */
export async function surveyDocker(root: string, options: SurveyOptions = {}): Promise<DockerFindings> {
  const folder = await openFolder(root, options)
  const dockerfiles: DockerFindings['dockerfiles'] = []
  const findings: DockerFinding[] = []
  for (const { path } of folder.files) {
    if (!isDockerfile(path)) continue
    const text = await folder.text(path)
    if (text === null) continue
    const instructions = instructionsOf(text)
    const stages = stagesOf(instructions)
    const aliases = new Set(stages.map(({ alias }) => alias))
    const baseImages = stages.map(({ image }) => image).filter((image) => !aliases.has(image.toLowerCase()))
    dockerfiles.push({ file: path, stages: stages.length, baseImages: [...new Set(baseImages)].map(withoutSecrets) })
    const broken = [
      ...fromRules(stages),
      ...userRule(stages),
      ...instructions.flatMap(lineRules),
      ...ignoreRule(folder, path, instructions),
    ]
    broken.sort((a, b) => a.line - b.line)
    findings.push(...broken.map((finding) => ({ file: path, ...finding, subject: withoutSecrets(finding.subject) })))
  }
  return { area: 'docker', coverage: folder.coverage(), dockerfiles, findings: listed(findings, folder.limits) }
}

/** The instructions with continuation lines joined, comments and here-documents' ends left out. */
function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = []
  const mark = /^\s*#\s*escape\s*=\s*`/im.test(text.slice(0, 500)) ? '`' : '\\'
  let open: { parts: string[]; line: number; mayHold: boolean } | null = null
  let hereDocument: string | null = null
  const close = (): void => {
    const match = /^\s*([A-Za-z]+)\s+([\s\S]*)$/.exec(open?.parts.join('') ?? '')
    if (open !== null && match?.[1] !== undefined && match[2] !== undefined)
      found.push({ name: match[1].toUpperCase(), args: match[2].trim(), line: open.line })
    open = null
  }
  linesOf(text).forEach((line, index) => {
    if (hereDocument !== null) {
      if (line.trim() === hereDocument) return ((hereDocument = null), close())
      open?.parts.push(`\n${line}`)
      return
    }
    if (/^\s*#/.test(line) || (open !== null && line.trim() === '')) return
    const continues = line.trimEnd().endsWith(mark)
    const part = continues ? line.trimEnd().slice(0, -1) : line
    if (open === null) open = { parts: [part], line: index + 1, mayHold: /^\s*(?:RUN|COPY|ADD)\b/i.test(part) }
    else open.parts.push(` ${part}`)
    // looked for in this part only: looking through all of them each time would take the square of their number
    hereDocument = open.mayHold ? ([...part.matchAll(/<<-?["']?(\w+)/g)].at(-1)?.[1] ?? null) : null
    if (!continues && hereDocument === null) close()
  })
  close()
  return found
}

function stagesOf(instructions: readonly Instruction[]): Stage[] {
  const args = new Map<string, string>()
  const stages: Stage[] = []
  for (const { name, args: text, line } of instructions) {
    const arg = name === 'ARG' && stages.length === 0 ? /^([\w]+)=["']?([^"'\s]*)/.exec(text) : null
    if (arg?.[1] !== undefined) args.set(arg[1], arg[2] ?? '')
    if (name === 'FROM') {
      const words = text.split(/\s+/).filter((word) => !word.startsWith('--'))
      const image = (words[0] ?? '').replaceAll(
        /\$\{?(\w+)(?::?-([^}]*))?\}?/g,
        (whole, key: string, fallback?: string) => args.get(key) ?? fallback ?? whole,
      )
      stages.push({ image, alias: words[1]?.toLowerCase() === 'as' ? (words[2]?.toLowerCase() ?? null) : null, line, user: null })
    }
    const stage = stages.at(-1)
    if (name === 'USER' && stage !== undefined) stage.user = text.split(/\s/)[0] ?? text
  }
  return stages
}

type Broken = Omit<DockerFinding, 'file'>

function fromRules(stages: readonly Stage[]): Broken[] {
  return stages.flatMap(({ image, line }, index): Broken[] => {
    const earlier = stages.slice(0, index).some(({ alias }) => alias === image.toLowerCase())
    if (earlier || image === 'scratch' || image.includes('$') || image.includes('@sha256:')) return []
    const tag = /:([^/:]+)$/.exec(image)?.[1]
    if (tag === undefined) return [{ line, rule: 'from-untagged', subject: image }]
    return tag === 'latest' ? [{ line, rule: 'from-latest', subject: image }] : []
  })
}

/** The last stage is what runs; it inherits the user of the stage it is built from. */
function userRule(stages: readonly Stage[]): Broken[] {
  const last = stages.at(-1)
  let stage = last
  for (let index = stages.length; stage !== undefined && stage.user === null;) {
    const from: string = stage.image.toLowerCase()
    index = stages.slice(0, index).findLastIndex(({ alias }) => alias === from)
    if (index === -1) break
    stage = stages[index]
  }
  if (last === undefined || stage === undefined) return []
  const user = stage.user ?? ''
  const safeBase = /nonroot|rootless|unprivileged/.test(stage.image)
  if (user === '' ? safeBase || stage.image.includes('$') : !/^["']?(root|0)(:|["']?$)/.test(user)) return []
  return [{ line: last.line, rule: 'no-user', subject: last.image }]
}

function lineRules({ name, args, line }: Instruction): Broken[] {
  if (name === 'ADD') return addRule(args, line)
  if (name === 'RUN') return aptRules(args, line)
  if (name !== 'ENV' && name !== 'ARG') return []
  const rule = name === 'ENV' ? 'secret-in-env' : 'secret-in-arg'
  return variablesOf(name, args)
    .filter(isSecretName)
    .map((subject) => ({ line, rule, subject }))
}

function variablesOf(name: string, args: string): string[] {
  if (name === 'ENV' && !/^[\w.-]+=/.test(args)) return [args.split(/\s/)[0] ?? '']
  const names = [...args.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, 'x').matchAll(/(?:^|\s)([A-Za-z_][\w.-]*)(?==|\s|$)/g)]
  return names.map((match) => match[1] ?? '')
}

function addRule(args: string, line: number): Broken[] {
  const isJson = args.startsWith('[')
  const words = (isJson ? [...args.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '') : args.split(/\s+/)).filter(
    (word) => !word.startsWith('--'),
  )
  const sources = words.slice(0, -1)
  const needsAdd = sources.some(
    (source) => /^(https?:|git@|git:|ssh:)/.test(source) || /\.(tar(\.\w+)?|tgz|tbz2?|txz|tar\.zst)$/.test(source) || /^<<|\$/.test(source),
  )
  return sources.length === 0 || needsAdd ? [] : [{ line, rule: 'add-instead-of-copy', subject: sources.join(' ') }]
}

function aptRules(args: string, line: number): Broken[] {
  const installs = /\bapt(?:-get)?\s+(?:-\S+\s+)*install\b/.test(args)
  const updates = /\bapt(?:-get)?\s+(?:-\S+\s+)*update\b/.test(args)
  if (updates && !installs && !/\bapt(?:-get)?\s+(?:-\S+\s+)*(?:dist-)?upgrade\b/.test(args))
    return [{ line, rule: 'apt-update-alone', subject: 'apt-get update' }]
  const cleans = /\brm\s+(?:-\S+\s+)+[^&;|]*\/var\/lib\/apt/.test(args) || /--mount=type=(?:cache|tmpfs)[^ ]*\/var\/lib\/apt/.test(args)
  return installs && !cleans ? [{ line, rule: 'apt-not-cleaned', subject: 'apt-get install' }] : []
}

/** A Dockerfile that copies from its context wants a .dockerignore beside it, for it, or at the root of the folder. */
function ignoreRule(folder: Folder, path: string, instructions: readonly Instruction[]): Broken[] {
  const copy = instructions.find(({ name, args }) => (name === 'COPY' || name === 'ADD') && !/--from=|^<</.test(args))
  const candidates = [under(folderOf(path), '.dockerignore'), `${path}.dockerignore`, '.dockerignore']
  if (copy === undefined || candidates.some((candidate) => folder.has(candidate))) return []
  return [{ line: copy.line, rule: 'no-dockerignore', subject: nameOf(path) }]
}
