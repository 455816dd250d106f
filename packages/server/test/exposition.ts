/**
 * A strict reader of the Prometheus text format 0.0.4, written from its document: what it does not allow is thrown.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface MetricFamily {
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*/
const types = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped'])

/** What a sample may be called, by the type of its metric. */
const suffixes: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] }

export function readExposition(text: string): ReadonlyMap<string, MetricFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end with a line feed')
  const families = new Map<string, { help: string; type: string; samples: Sample[] }>()
  const seen = new Set<string>()
  let current: string | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
    if (comment !== null) {
      const [, kind, name, rest] = comment as unknown as [string, string, string, string]
      const family = families.get(name) ?? { help: '', type: '', samples: [] }
      if (kind === 'HELP') {
        if (families.has(name)) throw new Error(`${name}: HELP twice, or after its samples`)
        if (/\\(?![\\n])/.test(rest)) throw new Error(`${name}: an escape in HELP that is none`)
        family.help = rest
      } else {
        if (family.type !== '' || family.samples.length > 0)
          throw new Error(`${name}: TYPE twice, or after its samples`)
        if (!types.has(rest)) throw new Error(`${name}: unknown type ${rest}`)
        family.type = rest
      }
      families.set(name, family)
      current = name
      continue
    }
    if (line.startsWith('#')) continue
    const sample = readSample(line)
    const family = families.get(current ?? '')
    const allowed = (suffixes[family?.type ?? ''] ?? ['']).map((suffix) => `${current}${suffix}`)
    if (family === undefined || !allowed.includes(sample.name))
      throw new Error(`${line}: not in the group of its metric`)
    if (family.type === '' || family.help === '') throw new Error(`${line}: its metric has no HELP or no TYPE`)
    if (family.type === 'counter' && !(sample.value >= 0)) throw new Error(`${line}: a counter below 0`)
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted(([a], [b]) => (a < b ? -1 : 1))])
    if (seen.has(id)) throw new Error(`${line}: a sample twice`)
    seen.add(id)
    family.samples.push(sample)
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family.samples)
  return families
}

function readSample(line: string): Sample {
  const [name] = metricName.exec(line) ?? []
  if (name === undefined) throw new Error(`${line}: no name of a metric`)
  let rest = line.slice(name.length)
  const labels: Record<string, string> = {}
  if (rest.startsWith('{')) {
    rest = rest.slice(1)
    while (!rest.startsWith('}')) {
      const [label] = labelName.exec(rest) ?? []
      if (label === undefined || label.startsWith('__')) throw new Error(`${line}: no name of a label`)
      rest = rest.slice(label.length)
      const value = /^="((?:[^"\\\n]|\\[\\"n])*)"/.exec(rest)
      if (value === null) throw new Error(`${line}: no value of ${label}`)
      if (Object.hasOwn(labels, label)) throw new Error(`${line}: ${label} twice`)
      labels[label] = value[1]!.replace(/\\([\\"n])/g, (_, char: string) => (char === 'n' ? '\n' : char))
      rest = rest.slice(value[0].length)
      if (rest.startsWith(',')) rest = rest.slice(1)
      else if (!rest.startsWith('}')) throw new Error(`${line}: no comma`)
    }
    rest = rest.slice(1)
  }
  const number = /^ (NaN|[+-]Inf|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/.exec(rest)?.[1]
  if (number === undefined) throw new Error(`${line}: no number`)
  const value = number.endsWith('Inf') ? (number.startsWith('-') ? -Infinity : Infinity) : Number(number)
  return { name, labels, value }
}

/** Buckets grow with their bounds, have the same bounds in every series, and the last one, `+Inf`, is the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  const bounds = new Set<string>()
  for (const [id, of] of series) {
    const buckets = of.filter((each) => each.name === `${name}_bucket`)
    const [sum, count] = ['_sum', '_count'].map((suffix) => of.filter((each) => each.name === name + suffix))
    if (sum?.length !== 1 || count?.length !== 1) throw new Error(`${name} ${id}: no sum or no count`)
    if (buckets.at(-1)?.labels['le'] !== '+Inf') throw new Error(`${name} ${id}: no bucket +Inf`)
    if (buckets.at(-1)!.value !== count[0]!.value) throw new Error(`${name} ${id}: the bucket +Inf is not the count`)
    for (const [i, bucket] of buckets.entries()) {
      const before = buckets[i - 1]
      if (before !== undefined && before.value > bucket.value) throw new Error(`${name} ${id}: a bucket is smaller`)
    }
    bounds.add(buckets.map(({ labels }) => labels['le']).join(' '))
  }
  if (bounds.size > 1) throw new Error(`${name}: series with other bounds`)
}
