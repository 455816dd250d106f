/** How the studio is built: into `dist/studio`, as files alone. Nothing is inlined, for a page without inline code. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../../dist/studio',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  // `npm run studio:dev`: the page as it is written, with the API of a server that runs
  server: { proxy: { '/api': process.env['REEVE_SERVER'] ?? 'http://127.0.0.1:4111' } },
})
