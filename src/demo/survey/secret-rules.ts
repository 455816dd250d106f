/**
 * What a secret looks like in a line of text, and how it is shown without being shown.
 * Owns: the patterns, what is only a placeholder, masking. Does not own: which files are searched (`secrets.ts`).
 *
 * S1: nothing in this module returns a value it found; it returns a mask.
 */

/** The kinds of secret the survey knows. */
export type SecretKind =
  | 'aws-access-key'
  | 'github-token'
  | 'slack-token'
  | 'slack-webhook'
  | 'stripe-live-key'
  | 'google-api-key'
  | 'npm-token'
  | 'openai-key'
  | 'anthropic-key'
  | 'jwt'
  | 'url-password'
  | 'private-key'
  | 'assigned-secret'

/** `certain`: the value has a shape only such secrets have. `likely`: a name and a random-looking value stand together. */
export type SecretConfidence = 'certain' | 'likely'

/** A secret in a line. `masked` is `null` for private keys, of which nothing is shown. */
export interface SecretHit {
  readonly kind: SecretKind
  readonly confidence: SecretConfidence
  readonly masked: string | null
  /** Where the value starts and ends in the line (0-based, end exclusive). */
  readonly start: number
  readonly end: number
}

interface Rule {
  readonly kind: SecretKind
  readonly confidence: SecretConfidence
  /** The value is the group `value`, or the whole match. */
  readonly pattern: RegExp
  readonly accept?: (value: string) => boolean
}

const random = (value: string): boolean => entropy(value) >= 3 && !isPlaceholder(value)

const rules: readonly Rule[] = [
  { kind: 'aws-access-key', confidence: 'certain', pattern: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g, accept: random },
  { kind: 'github-token', confidence: 'certain', pattern: /\bgh[pousr]_[A-Za-z0-9]{36,255}\b/g, accept: random },
  { kind: 'github-token', confidence: 'certain', pattern: /\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b/g, accept: random },
  { kind: 'slack-token', confidence: 'certain', pattern: /\bxox[abeoprs]-\d{8,14}-[A-Za-z0-9-]{12,}/g, accept: random },
  { kind: 'slack-token', confidence: 'certain', pattern: /\bxapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,}/g, accept: random },
  {
    kind: 'slack-webhook',
    confidence: 'certain',
    pattern: /https:\/\/hooks\.slack\.com\/services\/(?<value>T[A-Z0-9]{8,}\/B[A-Z0-9]{8,}\/[A-Za-z0-9]{20,})/g,
    accept: random,
  },
  { kind: 'stripe-live-key', confidence: 'certain', pattern: /\b[sr]k_live_[A-Za-z0-9]{16,}/g, accept: random },
  { kind: 'google-api-key', confidence: 'certain', pattern: /\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/g, accept: random },
  { kind: 'npm-token', confidence: 'certain', pattern: /\bnpm_[A-Za-z0-9]{36}\b/g, accept: random },
  { kind: 'anthropic-key', confidence: 'certain', pattern: /\bsk-ant-[A-Za-z0-9_-]{24,}/g, accept: random },
  { kind: 'openai-key', confidence: 'certain', pattern: /\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}/g, accept: random },
  { kind: 'jwt', confidence: 'likely', pattern: /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g, accept: isJwt },
  {
    kind: 'url-password',
    confidence: 'likely',
    pattern: /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/'"`<>]{0,100}:(?<value>[^\s:@/'"`<>]{8,200})@[^\s'"`<>]/gi,
    accept: looksAssigned,
  },
]

const secretName = String.raw`(?<![A-Za-z0-9])[\w.-]{0,60}?(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key)`
const quotedValue = new RegExp(String.raw`${secretName}["'\]]{0,2}\s*(?:=>|:=|[=:])\s*(["'${'`'}])(?<value>[^"'${'`'}\s]{8,200})\1`, 'gi')
const bareValue = new RegExp(
  String.raw`^\s*(?:-\s+)?(?:export\s+|ENV\s+|ARG\s+)?["']?${secretName}["']?\s*[=:]\s*(?<value>[^"'${'`'}\s#,;]{8,200})\s*(?:#.*)?$`,
  'gi',
)
/** In a quoted line it does no harm to mask too much: a command's `TOKEN=…`, `--token …`, a header. */
const spokenValue = new RegExp(String.raw`${secretName}["']?(?:\s*[=:]\s*|\s+)["']?(?<value>[^\s"'${'`'},;]{8,200})`, 'gi')
const bearerValue = /\b(?:bearer|basic)\s+(?<value>[^\s"'`,;]{8,400})/gi
/** Every pattern needs one of these; most lines have none and are passed over quickly. */
const hint =
  /A[KSBC][IC]A|gh[pousr]_|github_pat_|xox|xapp-|hooks\.slack|k_live_|AIza|npm_|sk-|eyJ|:\/\/[^\s/]*@|passw|passphrase|pwd|secret|token|key/i
const privateKey = /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----/g

/**
 * The secrets in one line, from left to right and never overlapping. `following` is the text after the line: a private-key header counts only
 * when a key follows it. `bare` allows `name=value` without quotes, as settings files write it.
 */
export function secretsIn(line: string, following = '', bare = false): SecretHit[] {
  if (!hint.test(line)) return []
  const hits: SecretHit[] = []
  for (const match of line.matchAll(privateKey)) {
    const end = match.index + match[0].length
    const body = keyBody(line.slice(end) + '\n' + following)
    if (body) hits.push({ kind: 'private-key', confidence: 'certain', masked: null, start: match.index, end: line.length })
  }
  for (const rule of rules) collect(line, rule, hits)
  collect(line, { kind: 'assigned-secret', confidence: 'likely', pattern: quotedValue, accept: looksAssigned }, hits)
  if (bare) collect(line, { kind: 'assigned-secret', confidence: 'likely', pattern: bareValue, accept: looksAssigned }, hits)
  return hits.sort((a, b) => a.start - b.start)
}

function collect(line: string, rule: Rule, hits: SecretHit[]): void {
  for (const match of line.matchAll(rule.pattern)) {
    const value = match.groups?.['value'] ?? match[0]
    const start = match.index + match[0].lastIndexOf(value)
    const end = start + value.length
    if (hits.some((hit) => start < hit.end && hit.start < end)) continue
    if (rule.accept?.(value) === false) continue
    hits.push({ kind: rule.kind, confidence: rule.confidence, masked: mask(value), start, end })
  }
}

/** How a secret is shown: its first four characters and its length; only the length when four characters would give away a third of it. */
export function mask(value: string): string {
  const length = [...value].length
  return length < 12 ? `…${length}` : `${[...value].slice(0, 4).join('')}…${length}`
}

/** The text with every secret in it masked, credentials in URLs included. For quoting a user's line in a finding. */
export function withoutSecrets(text: string): string {
  let shown = ''
  let at = 0
  const hits = secretsIn(text, '', true)
  for (const pattern of [spokenValue, bearerValue])
    collect(text, { kind: 'assigned-secret', confidence: 'likely', pattern, accept: looksAssigned }, hits)
  for (const hit of hits.sort((a, b) => a.start - b.start)) {
    shown += text.slice(at, hit.start) + (hit.masked ?? '[private key]')
    at = hit.end
  }
  return (shown + text.slice(at)).replace(/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,300}@/gi, '$1…@')
}

/** Whether a setting's name says that its value is a secret (`DB_PASSWORD`, `apiKey`), not merely about one (`TOKEN_URL`, `maxTokens`). */
export function isSecretName(name: string): boolean {
  return new RegExp(`^${secretName.replace('(?<![A-Za-z0-9])', '')}$`, 'i').test(name)
}

/** At least 40 base64 characters in the first lines after the header, line ends written as `\n` included. */
function keyBody(text: string): boolean {
  const head = text
    .slice(0, 800)
    .replaceAll(/\\r|\\n/g, '\n')
    .split('\n')
    .slice(0, 8)
  const runs = head.map((line) => /[A-Za-z0-9+/=]{40,}/.exec(line)?.[0] ?? '')
  return runs.some((run) => /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run))
}

function isJwt(value: string): boolean {
  const [header, payload] = value.split('.')
  const parsed = [header, payload].map((part) => {
    try {
      return JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8')) as Record<string, unknown>
    } catch {
      return null
    }
  })
  const isExample = parsed[1]?.['sub'] === '1234567890'
  return typeof parsed[0]?.['alg'] === 'string' && parsed[1] !== null && !isExample
}

/** A value that is random enough to be a secret and is no placeholder, path, URL, identifier or sentence. */
function looksAssigned(value: string): boolean {
  if (isPlaceholder(value) || entropy(value) < 3) return false
  if (/^(https?:\/\/|\.{0,2}\/|[A-Z]:\\|~\/)/i.test(value)) return false
  if (/[()[\]]/.test(value) && /^[\w.$[\]()'"-]+$/.test(value) && /[.([]/.test(value)) return false
  const rest = value.replaceAll(/[-_./:\\]/g, '')
  if (!/[A-Za-z]/.test(rest)) return false
  return /\d/.test(rest) || (value.length >= 10 && /[a-z]/.test(rest) && /[A-Z]/.test(rest) && /\w[!-/:-@[-`{-~]+\w/.test(rest))
}

const anywhere =
  /change[-_]?me|example|placeholder|redacted|replace[-_]?me|your[-_]|insert[-_]|xxxx|\*{3,}|\.{3}|…|0{6,}|123456|abcdef|\$\{|\$\(|\{\{|%\(|<[^>]+>|process\.env|os\.environ|import\.meta/i
const aPart = new Set([
  'test',
  'tests',
  'testing',
  'fake',
  'mock',
  'dummy',
  'sample',
  'demo',
  'foo',
  'bar',
  'todo',
  'none',
  'null',
  'secret',
  'password',
  'passwd',
])

/** Whether a value only stands for a secret: `changeme`, `${VAR}`, `<your-key>`, `xxx`, a reference to a variable. */
function isPlaceholder(value: string): boolean {
  if (anywhere.test(value) || /^[$%@!]/.test(value)) return true
  return value
    .toLowerCase()
    .split(/[^a-z0-9]+|(?<=[a-z])(?=\d)/)
    .some((part) => aPart.has(part))
}

/** Shannon entropy of a text in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>()
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1)
  const length = [...value].length
  let bits = 0
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length)
  return bits
}
