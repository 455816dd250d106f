/**
 * The body of the heartbeat thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { HeartbeatLoop, HeartbeatMemory, type PostgresHeartbeatData } from './heartbeat.ts'

const data = workerData as PostgresHeartbeatData
const heart = new HeartbeatLoop(data)
new HeartbeatMemory(data.memory).set('begun', 1)
heart.begin()

// the only word that there is: nothing keeps the thread then
parentPort!.once('message', () => void heart.end())
