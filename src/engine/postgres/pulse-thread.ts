/**
 * The body of the heartbeat thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Heart, type PulseData } from './pulse.ts'

const heart = new Heart(workerData as PulseData)
heart.begin()

// the only word that there is: nothing keeps the thread then
parentPort!.once('message', () => void heart.end())
