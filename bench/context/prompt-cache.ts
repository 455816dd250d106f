/**
 * A prompt cache as Anthropic has it, for tests: what of a request is read from it, and what is written to it.
 *
 * Rules (https://docs.claude.com/en/docs/build-with-claude/prompt-caching): tools, system text and messages are one
 * sequence of blocks; what stands up to a mark is written, from 1,024 tokens on; a mark looks back over at most 20 blocks
 * for what was written before. A token is four characters.
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { ProviderRequest, ProviderUsage } from '../../packages/testing/src/providers/index.ts'

const least = 1_024
const lookback = 20

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : typeof value === 'string' ? [{ type: 'text', text: value }] : []

/** A block without its mark, and the mark. */
interface Block {
  readonly text: string
  readonly mark: JsonObject | undefined
}

function blocksOf({ body }: ProviderRequest): readonly Block[] {
  const messages = listOf(body['messages']).flatMap((message) =>
    isObject(message)
      ? listOf(message['content']).map((block) => ({ role: message['role'] ?? '', block }))
      : [{ role: '', block: message }],
  )
  const all = [...listOf(body['tools']), ...listOf(body['system']), ...messages]
  return all.map((each) => {
    const block = isObject(each) && 'block' in each ? each['block'] : each
    const mark = isObject(block) ? block['cache_control'] : undefined
    return {
      text: JSON.stringify(each, (name, value: unknown) => (name === 'cache_control' ? undefined : value)),
      mark: isObject(mark) ? mark : undefined,
    }
  })
}

/** What was written so far. */
export class PromptCache {
  readonly #written = new Set<string>()

  /** What the request uses. Tokens. */
  use(request: ProviderRequest): ProviderUsage {
    const blocks = blocksOf(request)
    const upTo = blocks.map((_, at) =>
      blocks
        .slice(0, at + 1)
        .map(({ text }) => text)
        .join('\n'),
    )
    const tokens = (at: number): number => (at < 0 ? 0 : Math.ceil(upTo[at]!.length / 4))
    const marks = blocks.flatMap(({ mark }, at) => (mark === undefined ? [] : [at]))
    const read = Math.max(
      -1,
      ...marks.flatMap((mark) =>
        Array.from({ length: lookback }, (_, back) => mark - back).filter(
          (at) => at >= 0 && this.#written.has(upTo[at]!),
        ),
      ),
    )
    const kept = marks.filter((mark) => tokens(mark) >= least)
    for (const mark of kept) this.#written.add(upTo[mark]!)
    const written = Math.max(0, tokens(Math.max(-1, ...kept)) - tokens(read))
    const isHour = blocks.some(({ mark }) => mark?.['ttl'] === '1h')
    return {
      input: tokens(blocks.length - 1),
      output: 50,
      cached: tokens(read),
      ...(isHour ? { cacheWriteHour: written } : { cacheWrite: written }),
    }
  }
}
