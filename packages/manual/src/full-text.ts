/**
 * The documentation as one text, for a model that reads all of it.
 *
 * Owns: its form. Does not own: which pages there are (pages.ts). Pure.
 */
import type { Manual } from './pages.ts'

/** Lists of every name, event, route and prompt: they are looked up, not read, and are as long as all other pages. */
const isLookedUp = (path: string): boolean => /^docs\/reference\/(api\/|events|http|prompts|model-ends)/.test(path)

/** `llms-full.txt`: the pages in the order of the index, each under its path, then the examples. */
export function fullText({ pages, examples }: Manual, about: string): string {
  const parts = [
    `# Reeve\n\n> ${about}\n\nAll pages that are read; those that are looked up are in llms.txt.`,
    ...pages.filter(({ path }) => !isLookedUp(path)).map(({ path, text }) => `<!-- ${path} -->\n\n${text.trim()}`),
    ...examples.map(({ name, text }) => `<!-- examples/${name}.ts -->\n\n\`\`\`ts\n${text.trim()}\n\`\`\``),
  ]
  return `${parts.join('\n\n---\n\n')}\n`
}
