/** What is wrong with a person's definition is said in words, all at once, before anything begins. */
import { expect, test } from 'vitest'
import { agent, rename } from '../src/index.ts'
import { human } from '@reeve/supervisor'
import { any, one, saidOf } from './refused.ts'

test('options that a person does not have, and everything else that is wrong, at once', async () => {
  const { code, says } = await saidOf(() =>
    human(
      any({
        name: 'a b',
        chanel: 'x',
        channel: 3,
        timeoutMs: 'long',
        prompt: 'hello',
        onTimeout: { anser: 1 },
        oversight: { mode: 'never' },
      }),
    ),
  )
  expect(code).toBe('team.invalid')
  expect(says).toEqual(
    expect.arrayContaining([
      'human "a b" has no option "chanel": did you mean "channel"?',
      'human "a b": name is the text "a b", expected a letter or "_", then up to 63 letters, digits, "_" or "-"',
      'human "a b": channel is 3, expected the name of a channel, or a list of names',
      'human "a b": timeoutMs is the text "long", expected milliseconds',
      'human "a b": prompt is the text "hello", expected a function',
      expect.stringMatching(/^human "a b": onTimeout is .*, expected "fail" or \{ answer \}$/),
      expect.stringMatching(/^human "a b": oversight.mode is the text "never"/),
    ]),
  )
})

test('an answer for the deadline that could not be theirs, or without a deadline', async () => {
  const { says } = await saidOf(() => human({ name: 'a', output: { type: 'number' }, onTimeout: { answer: 'x' } }))
  expect(says).toEqual([
    'human "a": onTimeout.answer does not fit the output: the value must be a number, got a string',
    'human "a": onTimeout without timeoutMs: there is no deadline',
  ])
  await expect(
    saidOf(() => human({ name: 'a', timeoutMs: 1, onTimeout: { answer: 1, else: 2 } as never })),
  ).resolves.toMatchObject({
    says: ['human "a": onTimeout has no option "else"; it has answer'],
  })
})

test('a model or code belongs to an agent', async () => {
  await expect(saidOf(() => human(any({ name: 'a', run: () => 1, model: 'x' })))).resolves.toMatchObject({
    says: [expect.stringMatching(/no option "run"/), expect.stringMatching(/no option "model"/)],
  })
  expect(() => human(any('a'))).toThrow(expect.objectContaining({ code: 'agent.invalid' }))
})

test('a person who leads: the team is checked as every team, at once', () => {
  const nameless = agent({ name: 'nameless', run: () => 1 })
  expect(() => human({ name: 'boss', workers: [] })).toThrow(expect.objectContaining({ code: 'team.empty' }))
  expect(() => human(any({ name: 'boss', workers: [one, one, nameless], specialists: [one], timeoutMs: 'x' }))).toThrow(
    expect.objectContaining({
      code: 'team.invalid',
      message: expect.stringMatching(
        /^human "boss" has no option "specialists"; .*\n(.*\n)*human "boss": timeoutMs is the text "x", expected milliseconds\n(.*\n)*.*"nameless" has no description.*\n(.*\n)*.*two workers are called "one"$/,
      ) as string,
    }),
  )
})

test('its data is part of its version; under another name it is the same person', () => {
  const [plain, told] = [
    human({ name: 'a', description: 'Is a.' }),
    human({ name: 'a', description: 'Is a.', channel: 'desk' }),
  ]
  expect(plain.version).not.toBe(told.version)
  expect(rename(told, 'b')).toMatchObject({ name: 'b', version: told.version, channels: ['desk'] })
  const lead = human({
    name: 'lead',
    description: 'Leads.',
    workers: [plain, one].map((each) => rename(each, `${each.name}_1`)) as never,
  })
  expect(lead.team()).toEqual(['a_1', 'one_1'])
})
