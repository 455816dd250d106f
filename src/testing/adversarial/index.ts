/** The adversarial engine. */
export { AdversarialEngine, type AdversarialOptions } from './engine.ts'
export { AdversarialStore } from './store.ts'
export { badWeather, type Weather } from './network.ts'
