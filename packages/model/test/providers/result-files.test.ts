/**
 * Files of results on every wire: in the result where the provider takes them there, after the results where only a user
 * may send them, described where neither is known; and never a refused request.
 */
import { describe, expect, test } from 'vitest'
import { fileHandle, fileLabel, type FilePart, type Message } from '@reeve/core'
import { resolveModel } from '../../src/index.ts'
import { strictProvider, strictProviderNames, type ProviderName } from '../../../testing/src/providers/index.ts'
import { asking } from '../requests.ts'

const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const png: FilePart = { type: 'file', mediaType: 'image/png', filename: 'chart.png', data }
const pdf: FilePart = { type: 'file', mediaType: 'application/pdf', filename: 'report.pdf', data: 'JVBERi0xLjQK' }
const tiff: FilePart = { type: 'file', mediaType: 'image/tiff', data: 'SUkqAA==' }

/** Two calls of one answer, the first with these files, and what a user says then. */
const conversation = (files: readonly FilePart[], more: object = {}): readonly Message[] => [
  { role: 'user', content: 'Draw it.' },
  {
    role: 'assistant',
    content: '',
    calls: [
      { id: 'c1', name: 'chart', input: {} },
      { id: 'c2', name: 'look', input: {} },
    ],
  },
  { role: 'tool', callId: 'c1', name: 'chart', content: 'The chart:', files, ...more },
  { role: 'tool', callId: 'c2', name: 'look', content: 'seen' },
]

/** The texts of a request in the order of the wire, with `<type>` for the data of a file. */
async function sent(preset: ProviderName, messages: readonly Message[]): Promise<readonly string[]> {
  await using provider = await strictProvider({ preset, answer: ['seen'] })
  const answer = await resolveModel(provider.model, provider.options).call({ ...asking('x'), messages })
  expect(answer.text).toBe('seen')
  expect(provider.refused).toEqual([])
  const found: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string')
      found.push(value.replace(/^data:([^;]+);base64,.*$/s, '<$1>').replace(data, '<bytes>'))
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk)
  }
  walk(JSON.parse(provider.requests[0]!.text))
  return found
}

const placeOfPicture: Readonly<Record<ProviderName, 'inside' | 'after' | 'nowhere'>> = {
  openai: 'inside',
  anthropic: 'inside',
  google: 'inside',
  'openai-chat': 'after',
  groq: 'after',
  openrouter: 'after',
  vllm: 'after',
  llamacpp: 'after',
  ollama: 'after',
}

describe.each(strictProviderNames)('%s', (preset) => {
  const place = placeOfPicture[preset]

  test(`shows a picture of a result ${place}`, async () => {
    const texts = await sent(preset, conversation([png]))
    const at = (text: string): number => texts.findIndex((each) => each.includes(text))
    const picture = texts.findIndex((each) => each === '<image/png>' || each === '<bytes>')
    expect(picture).toBeGreaterThan(-1)
    expect(at('The chart:')).toBeGreaterThan(-1)
    expect(at(fileLabel(png).slice(0, -1))).toBeGreaterThan(-1)
    // the other result of the answer stands before it, or after it
    expect(picture > at('seen')).toBe(place === 'after')
  })

  test('describes what it takes nowhere: a type, a picture of an error in the result itself', async () => {
    const texts = await sent(preset, conversation([tiff, png], { isError: true }))
    // an error is JSON on some wires
    const words = texts.join('\n').replaceAll('\\"', '"')
    expect(words).toContain(fileLabel(tiff, 'not shown: this model takes no such file, or none so large'))
    expect(words).toContain(fileLabel(png, 'shown after the results'))
    expect(words).not.toContain('SUkqAA')
  })

  test('a labelled file of a user that it does not take is described, too', async () => {
    const content = [{ type: 'text' as const, text: fileLabel(tiff) }, tiff]
    const words = (await sent(preset, [{ role: 'user', content }])).join('\n')
    expect(words).toContain(fileHandle(tiff))
    expect(words).toContain('[not shown: this model takes no such file, or none so large]')
  })
})

test('a document stands in the result where that takes documents, and its text without a word is left out', async () => {
  for (const preset of ['openai', 'anthropic', 'google'] as const) {
    const texts = await sent(preset, conversation([pdf], { content: '' }))
    expect(texts.some((each) => each === 'JVBERi0xLjQK' || each === '<application/pdf>')).toBe(true)
    expect(texts.join('\n')).not.toContain('[no output]')
  }
})

test('a picture that is too large for Anthropic is described', async () => {
  const large: FilePart = { ...png, data: data + 'A'.repeat(5 * 1024 * 1024) }
  const words = (await sent('anthropic', conversation([large]))).join('\n')
  expect(words).toContain('or none so large')
})
