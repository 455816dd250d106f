/** Strict providers: servers on loopback that refuse and behave as real ones do, with the sources of their rules. */
export type {
  FailureKind,
  ProviderAnswer,
  ProviderBreak,
  ProviderCall,
  ProviderFailure,
  ProviderPart,
  ProviderRan,
  ProviderReply,
  ProviderUsage,
} from './answer.ts'
export { providerRules, strictProviderNames } from './presets.ts'
export { strictProvider, type RefusedRequest, type StrictProvider, type StrictProviderOptions } from './server.ts'
export type { ProviderName, ProviderRequest, ProviderRule } from './wire.ts'
