/** A process that holds nothing else asks whether it is ready, and prints the answer. */
import { Readiness } from '../src/readiness.ts'

process.stdout.write(await (await new Readiness({ runs: async () => [] }).ready()).text())
