#!/usr/bin/env node
// The launcher: plain JavaScript that any Node can parse, so that an old one is told what is wrong instead of failing on syntax it does not know.
import { existsSync } from 'node:fs'

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
await import(main.href)
