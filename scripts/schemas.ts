/** Runs the official JSON Schema Test Suite against Reeve's validator and prints what came of it. `npm run check:schemas`. */
import { runSuite } from '../packages/edge/test/json-schema-suite/suite.ts'

for (const { name, cases, right, wrong, refused } of runSuite()) {
  const asked = right + wrong.length
  const left = [...refused].map(([file, count]) => `${file} ${count}`).join(', ')
  console.log(
    `${name.padEnd(13)} ${right} of ${asked} right (${((100 * right) / asked).toFixed(2)} %); ` +
      `${cases - asked} of ${cases} are of schemas that are refused at definition: ${left}`,
  )
  for (const each of wrong) console.log(`  wrong: ${each}`)
  if (wrong.length > 0) process.exitCode = 1
}
