/**
 * `reeve docs`: the documentation of the installed version, for a person and for a coding agent.
 *
 * Owns: its tools for MCP, what is printed. Does not own: pages and their search (manual), the protocol (mcp).
 */
import { fileURLToPath } from 'node:url'
import { cut, visibleJson, type Json } from '@reeve/core'
import { compileSchema, type Schema } from '@reeve/edge'
import { exampleOf, ManualSearch, pageOf, readManual, type Manual } from '@reeve/manual'
import { readsOnly, serveStdio, toolServers } from '@reeve/mcp/tools'
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { asTyped, reeve } from '../invocation.ts'
import { apart, protocolOutput } from '../protocol-output.ts'

/** The options of `docs`. */
export interface DocsOptions {
  readonly mcp?: boolean
}

/** The root of the installed package. */
const place = fileURLToPath(new URL('../../../../', import.meta.url))

/** Searches for words, shows a page or an example; serves MCP for a client that has started it without words. */
export async function docs(context: CommandContext, words: readonly string[], options: DocsOptions): Promise<Exit> {
  const { terminal } = context
  if (options.mcp === true && words.length > 0)
    throw usage('--mcp takes no words', `A client asks by itself; a person: ${reeve} docs ${words.join(' ')}`)
  if (options.mcp === true || (words.length === 0 && process.stdin.isTTY !== true)) return serveDocs(context)
  const manual = readManual(place)
  const named = words.length === 1 ? shownByName(manual, words[0]!) : undefined
  if (named !== undefined) {
    terminal.line(named)
    return exits.done
  }
  if (words.length === 0) {
    for (const { path, title, wanted } of manual.pages.filter((page) => page.wanted !== ''))
      terminal.line(`${terminal.style('bold', path.replace(/^docs\//, ''))}  ${title}: ${wanted}`)
    terminal.note(asTyped('reeve docs <words> searches; reeve docs <page> or <example> shows it', ['docs']))
    return exits.done
  }
  using search = new ManualSearch(manual)
  const found = search.find(words.join(' '))
  if (found.length === 0)
    throw usage(`nothing is found for ${JSON.stringify(words.join(' '))}`, `All pages: ${reeve} docs`)
  for (const { address, title, excerpt } of found) {
    terminal.line(`${terminal.style('bold', address)}  ${title}`)
    terminal.line(`  ${cut(excerpt, 240)}`)
  }
  terminal.note(`${reeve} docs ${found[0]!.address} shows it`)
  return exits.done
}

/** A page or an example, if this names one and does not only begin its name. */
const shownByName = (manual: Manual, name: string): string | undefined => {
  const isAddress = /[/#.-]|^\d+$/.test(name)
  const page = pageOf(manual, name)
  if (page !== undefined) return page.section?.text ?? page.text
  return isAddress ? exampleOf(manual, name)?.text : undefined
}

async function serveDocs(context: CommandContext): Promise<Exit> {
  const { interrupted, self } = context
  const output = protocolOutput()
  if (output === undefined && self !== undefined) return apart(self, context)
  const manual = readManual(place)
  using search = new ManualSearch(manual)
  context.terminal.note(`serving the documentation by MCP on standard input; to search it: ${reeve} docs <words>`)
  const server = await toolServers(() => ({ instructions, tools: docsTools(manual, search) }), interrupted)
  await serveStdio(server, interrupted, output === undefined ? {} : { output })
  return exits.done
}

const instructions =
  'The documentation of Reeve, a TypeScript runtime for supervised teams of AI agents, in the version that is installed. Search first, in the words of the task; then read the page or the section that answers. Every example is a whole program that runs: begin with one.'

/** Of a page so many characters are told at once. */
const most = 40_000

const inputOf = (properties: { readonly [name: string]: Json }, required: readonly string[] = []): Schema =>
  compileSchema({ type: 'object', properties, required: [...required], additionalProperties: false }, 'reeve docs')

/** The tools of the documentation: `search`, `page`, `example`. */
export function docsTools(manual: Manual, search: ManualSearch) {
  const tool = <Given>(
    name: string,
    title: string,
    description: string,
    input: Schema,
    call: (given: Given) => { readonly [name: string]: Json } | string,
  ) => ({
    name,
    title,
    description,
    input,
    hints: readsOnly,
    async answer(given: unknown) {
      const answer = call((given ?? {}) as Given)
      const isMissing = typeof answer === 'string'
      const told = isMissing ? { error: answer } : answer
      const text = typeof told['text'] === 'string' ? told['text'] : visibleJson(told, 1)
      return {
        content: [{ type: 'text' as const, text }],
        structuredContent: told,
        ...(isMissing ? { isError: true as const } : {}),
      }
    },
  })
  return [
    tool<{ question: string; limit?: number }>(
      'search',
      'Search the documentation',
      'Finds sections and examples by words, the best first. Gives addresses for `page` and names for `example`.',
      inputOf(
        {
          question: { type: 'string', minLength: 1, maxLength: 2_000, description: 'A question or some words.' },
          limit: { type: 'integer', minimum: 1, maximum: 30, description: 'So many at most. Default 8.' },
        },
        ['question'],
      ),
      ({ question, limit }) => ({
        found: search.find(question, limit).map(({ address, title, excerpt }) => ({ address, title, excerpt })),
      }),
    ),
    tool<{ address?: string; from?: number }>(
      'page',
      'Read a page',
      `A page or one section of it, as Markdown, ${most} characters at a time. Without an address: all pages, and what each is for.`,
      inputOf({
        address: { type: 'string', maxLength: 500, description: 'docs/how-to/tools.md, or with a #section.' },
        from: { type: 'integer', minimum: 0, description: 'The character to go on from: `next` of the part before.' },
      }),
      ({ address, from = 0 }) => {
        if (address === undefined)
          return { pages: manual.pages.map(({ path, title, wanted }) => ({ address: path, title, for: wanted })) }
        const page = pageOf(manual, address)
        if (page === undefined) return `There is no page ${JSON.stringify(address)}: search, or list all pages.`
        const text = page.section?.text ?? page.text
        const end = from + most
        return {
          address: page.section?.address ?? page.path,
          text: text.slice(from, end),
          ...(end < text.length ? { next: end } : {}),
        }
      },
    ),
    tool<{ name?: string }>(
      'example',
      'Read an example',
      'A whole program that runs without a key, by its name or its number. Without a name: all of them, and what each shows.',
      inputOf({ name: { type: 'string', maxLength: 200, description: '02-approval, or 02.' } }),
      ({ name }) => {
        if (name === undefined)
          return { examples: manual.examples.map((each) => ({ name: each.name, about: each.about })) }
        const example = exampleOf(manual, name)
        return example === undefined
          ? `There is no example ${JSON.stringify(name)}: list all of them.`
          : { name: example.name, text: example.text }
      },
    ),
  ]
}
