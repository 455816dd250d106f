/** The adversarial engine, and the store that makes it one. */
export { adversarialEngine, type AdversarialEngine, type AdversarialOptions } from './engine.ts'
export { badWeather, storm, type Weather } from './weather.ts'
export { badMover, WakeUps } from './mover.ts'
