/** The client in a browser: what a bundler makes of it, and how large that is. */
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { expect, test } from 'vitest'

const door = new URL('../src/index.ts', import.meta.url).pathname

async function bundled(code: string): Promise<{ readonly code: string; readonly imports: readonly string[] }> {
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      rolldownOptions: { input: 'entry', preserveEntrySignatures: 'strict' },
    },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? '\0entry' : undefined),
        load: (id) => (id === '\0entry' ? code : undefined),
      },
    ],
  })
  const output = (Array.isArray(result) ? result : [result]).flatMap((each) => ('output' in each ? each.output : []))
  const chunks = output.flatMap((each) => (each.type === 'chunk' ? [each] : []))
  return {
    code: chunks.map((each) => each.code).join('\n'),
    imports: chunks.flatMap((each) => [...each.imports, ...each.dynamicImports]),
  }
}

test('it is bundled for a browser in less than 7.2 kB, and imports nothing', async () => {
  const { code, imports } = await bundled(`export * from ${JSON.stringify(door)}`)
  expect(code).toContain('text/event-stream')
  expect(imports).toEqual([])
  expect(code).not.toMatch(/node:|require\(|process\.|Buffer/)
  expect(gzipSync(code).length).toBeLessThan(7_200)
})

test('who needs a part of it gets that part alone', async () => {
  const { code } = await bundled(`export { applyPatch } from ${JSON.stringify(door)}`)
  expect(code).toContain('hasOwn')
  expect(code).not.toMatch(/fetch|last-event-id/)
})
