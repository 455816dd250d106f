/**
 * The demo: a supervised team that surveys a folder and writes a report about it. An application of Reeve, written as a
 * user writes one.
 *
 * Owns: what `reeve demo` and `reeve resume` need of it.
 * Holds: it imports only what the package exports.
 */
export { demoFolder, reportPath, settingsInput, settingsOf, type DemoSettings } from './settings.ts'
export { demoAgents, isDemoAgent, leaderName } from './team.ts'
