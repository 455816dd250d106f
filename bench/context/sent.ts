/**
 * What models were sent: the characters of all requests of a run, and those that no cache of a provider can hold.
 *
 * What is counted of a request are its tools and then its messages, as JSON: the order in which providers cache. What
 * it shares with an earlier request, from the beginning on, may come from a cache; what follows may not.
 */
import type { Asked } from '../killed/model.ts'

/** All requests of one run. Counts of characters. */
export interface Sent {
  readonly requests: number
  readonly characters: number
  /** Behind the longest beginning that any earlier request has too. */
  readonly notCacheable: number
  /** Of `characters`, what the leader was sent. */
  readonly leader: number
}

/** What of a request is counted. */
const countedOf = ({ tools = [], messages }: Asked): string => JSON.stringify(tools) + JSON.stringify(messages)

export function sentIn(requests: readonly Asked[]): Sent {
  const texts = requests.map(countedOf)
  const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each, 0)
  const isWorker = ({ tools = [] }: Asked): boolean => tools.some((tool) => tool.function.name === 'look_up')
  return {
    requests: texts.length,
    characters: sum(texts.map(({ length }) => length)),
    notCacheable: sum(
      texts.map((text, i) => text.length - Math.max(0, ...texts.slice(0, i).map((earlier) => shared(earlier, text)))),
    ),
    leader: sum(texts.filter((_, i) => !isWorker(requests[i]!)).map(({ length }) => length)),
  }
}

/** How many characters two texts have in common at their beginning. */
function shared(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
}
