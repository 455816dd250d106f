/**
 * The body of the heartbeat thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Heart, PulseMemory, type PulseData } from './pulse.ts'

const data = workerData as PulseData
const heart = new Heart(data)
new PulseMemory(data.memory).set('begun', 1)
heart.begin()

// the only word that there is: nothing keeps the thread then
parentPort!.once('message', () => void heart.end())
