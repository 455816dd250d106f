/**
 * The contracts that an engine and a store must hold, as cases that any test runner can bind, and an engine that keeps
 * them in the worst way allowed.
 *
 * For who writes an engine or a store; tests of agents need `reeve/testing` only.
 */
export { adversarialEngine, type AdversarialEngine, type AdversarialOptions } from './adversarial/engine.ts'
export { badWeather, storm, type Weather } from './adversarial/weather.ts'
export { engineContract, type ContractCase } from './engine/engine-contract.ts'
export type { Bench, EngineSubject } from './engine/stage.ts'
export { storeContract } from './store/store-contract.ts'
export type { StoreSubject } from './store/stage.ts'
