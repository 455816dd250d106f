/**
 * `reeve/openai`: agents as models of OpenAI's API.
 *
 * Owns: what the subpath exports. Does not own: models of OpenAI as a provider (../../model).
 * Holds: it needs no package of OpenAI: bodies and events are written by hand, and read by the client's own.
 */
export { openai, type OpenAiOptions } from './openai.ts'
