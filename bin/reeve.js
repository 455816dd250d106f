#!/usr/bin/env node
// The launcher: plain JavaScript that any Node can parse, so that an old one is told what is wrong instead of failing on syntax it does not know.
import { existsSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

const needed = 24
const main = new URL('../dist/cli/src/main.js', import.meta.url)

if (Number(process.versions.node.split('.')[0]) < needed) {
  console.error(`reeve needs Node ${needed} or newer; this is Node ${process.versions.node} (${process.execPath}).`)
  console.error(
    'Install a newer Node (nodejs.org, nvm, fnm, volta), or run it once with: npx -p node@24 -p reeve reeve',
  )
  process.exit(2)
}
if (!existsSync(main)) {
  console.error('reeve is not built: dist/cli/src/main.js is missing. In a checkout, run: npm run build')
  process.exit(2)
}
keepCompiled()
await import(main.href)

/**
 * Node keeps the code that it has compiled, so that the next command begins sooner. In a folder of the user alone: it
 * may hold their config, and what stands there is run. Where that cannot be made, nothing is kept.
 */
function keepCompiled() {
  try {
    const cache =
      process.platform === 'win32'
        ? process.env['LOCALAPPDATA']
        : (process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'))
    if (cache === undefined || cache === '') return
    const folder = join(cache, 'reeve', 'compiled')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    module.enableCompileCache?.(folder)
  } catch {
    // it is only quicker with it
  }
}
