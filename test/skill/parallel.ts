import { agent, createRuntime, parallel, unwrap } from 'reeve'

const translator = (language: string, word: string) =>
  agent({ name: `to-${language}`, description: `Translates to ${language}.`, model: () => word })

const translate = parallel({
  name: 'translate',
  agents: [translator('german', 'Rabe'), translator('french', 'corbeau')],
})

await using runtime = await createRuntime({ agents: [translate] })
const words = unwrap(await runtime.run(translate, 'raven'))
console.log(words.join(', '))
