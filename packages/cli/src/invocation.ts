/**
 * Invocation: how the caller types `reeve`, for the commands that are printed to be typed next.
 *
 * Owns: telling a local install from a global one. Does not own: the commands (next-command.ts, command/).
 * Holds: a package manager puts a local install on the PATH only of what it starts itself, so what worked for the
 * caller is printed back.
 */
import { basename } from 'node:path'

/** How a process was started. */
export interface StartedAs {
  /** `process.argv[1]`. */
  readonly script: string | undefined
  readonly env: { readonly [name: string]: string | undefined }
}

/** What other package managers than npm run a local command with, by the first word of their user agent. */
const runners: Readonly<Record<string, string>> = { pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }

/** `reeve` for a global install, `npx reeve` (or what the package manager calls it) for a local one. */
export function invocation({ script = '', env }: StartedAs): string {
  // any other script is a program that embeds the commands
  if (!/^reeve(\.js|\.cmd|\.ps1)?$/.test(basename(script.replaceAll('\\', '/')))) return 'reeve'
  const isLocal = /[\\/]node_modules[\\/]\.bin[\\/]/.test(script) || env['npm_command'] !== undefined
  if (!isLocal) return 'reeve'
  const manager = env['npm_config_user_agent']?.split('/')[0] ?? 'npm'
  return `${Object.hasOwn(runners, manager) ? runners[manager]! : 'npx'} reeve`
}

/**
 * A text that names commands as `reeve …`, help or one of another room, with them as this caller types them. `commands`: the names
 * that may follow, so that no other mention of the word is taken for one.
 */
export function asTyped(text: string, commands: readonly string[], how = reeve): string {
  if (how === 'reeve' || commands.length === 0) return text
  const names = ['--help', ...commands].map((each) => each.replaceAll(/[^\w-]/g, '')).join('|')
  return text.replaceAll(
    new RegExp(String.raw`(?<![\w./@-]|npx |exec |yarn |bunx )reeve(?= (?:${names})(?![\w-]))`, 'g'),
    how,
  )
}

/** How this process was called. */
export const reeve = invocation({ script: process.argv[1], env: process.env })
