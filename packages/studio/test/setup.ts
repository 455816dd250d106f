/** Builds the page that the tests look at. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

export function setup(): void {
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const args = ['build', '--config', join(root, 'packages/studio/vite.config.ts'), '--logLevel', 'warn']
  const { status, stderr } = spawnSync(process.execPath, [vite, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the studio does not build: ${stderr}`)
}
