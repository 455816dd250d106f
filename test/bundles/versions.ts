/** The bundlers and runtimes that Reeve is tried with: exact versions, as docs/how-to/runtimes-and-bundlers.md says them. */
export const bundlers = {
  esbuild: '0.28.2',
  next: '16.4.6',
  react: '19.3.1',
  'react-dom': '19.3.1',
  rolldown: '1.3.3',
  vite: '8.4.0',
}
export const runtimes = { bun: '1.4.5', deno: '2.9.6', tsx: '4.23.15' }
/** Those that are too old, and have to say so. */
export const olderNodes = { 22: '22.23.3', 20: '20.20.2' }
