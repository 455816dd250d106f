/** The tool of every program: it writes a line, and hangs while the folder of the case has a file `hang`. */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'

/** @param {{ order: number, dollars: number }} input */
export async function refund({ order, dollars }) {
  const folder = process.env['CASE_FOLDER'] ?? '.'
  appendFileSync(join(folder, 'effects'), `refund ${order} ${dollars}\n`)
  if (existsSync(join(folder, 'hang'))) await new Promise(() => setInterval(() => undefined, 1_000))
  return 'refunded'
}
