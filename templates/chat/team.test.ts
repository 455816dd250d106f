import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, unwrap } from 'reeve'
import { scripted } from 'reeve/testing'
import { assistantWith, rules } from './team.ts'

test('a session is one conversation, another session knows nothing of it', async () => {
  const assistant = assistantWith(rules)
  await using runtime = await createRuntime({ agents: [assistant] })
  await runtime.run(assistant, 'My name is Ann.', { session: 'ann' })
  assert.match(unwrap(await runtime.run(assistant, 'Who am I?', { session: 'ann' })), /My name is Ann\./)
  assert.doesNotMatch(unwrap(await runtime.run(assistant, 'Who am I?', { session: 'bob' })), /Ann/)
})

test('the model is told the whole conversation', async () => {
  const model = scripted('Hello, Ann.', 'You are Ann.')
  const assistant = assistantWith(model)
  await using runtime = await createRuntime({ agents: [assistant] })
  await runtime.run(assistant, 'My name is Ann.', { session: 'ann' })
  assert.equal(unwrap(await runtime.run(assistant, 'Who am I?', { session: 'ann' })), 'You are Ann.')
  assert.deepEqual(
    model.prompts.at(-1)?.flatMap(({ role, content }) => (role === 'system' ? [] : [content])),
    ['My name is Ann.', 'Hello, Ann.', 'Who am I?'],
  )
})
