/**
 * `reeve/ag-ui`: agents for clients that speak AG-UI 1.0, such as CopilotKit. A protocol of `createServer`; needs no
 * other package.
 */
export { agUi, type AgUiOptions } from './ag-ui.ts'
export type { NamedAgent } from '../protocol-run/index.ts'
