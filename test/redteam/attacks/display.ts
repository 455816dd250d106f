/** What a person is shown: nothing passes for something else. */
import { visible } from '@reeve/core'
import { area, holds } from '../attack.ts'

/** Texts that imitate another one, by kind. None may be shown as it is. */
const imitations: Readonly<Record<string, readonly string[]>> = {
  'letters of other scripts as a slash': [
    'https://bank.comノlogin.evil.example',
    'https://bank.comんlogin.evil.example',
    'https://bank.com丿login.evil.example',
    'https://bank.comﾉlogin.evil.example',
  ],
  'Hangul as Latin': ['paypaㅣ.com', 'gㅇㅇgle.com', 'paypaᅵ.com', 'ㅡ100'],
  'Han as digits': ['1〇〇 EUR', '10〇'],
  'dotless letters': ['mıcrosoft.com', 'ȷira.example'],
  dashes: ['my‐bank.com', '−100', 'my˗bank', 'my‑bank.com', 'my﹣bank.com', 'my－bank.com'],
  quotes: ['ok ʺ, ʺamountʺ: ʺ1ʺ', 'ok″, ″amount″: 1', 'ok＂, ＂amount＂: 1', 'a ʹ, ʹb'],
  'whole words of look-alikes': ['ꓮꓑꓑꓡꓰ.com', 'ᎪᏢᏢᏞᎬ', 'сосо', 'рауа', 'ΑΒΕΖ.com', 'аррӏе.com'],
  'look-alikes beside a real word of the script': ['аррӏе.com я', 'Pay раураӏ я'],
  'look-alikes among words of their own language': ['ѕсоре и'],
  dots: ['a．b', 'a․com', 'a܁com', 'a۔com', 'a・com', 'a。com', 'bank。com', 'bank｡com'],
  'colons and slashes': [
    'a꞉b',
    'https:⁄⁄bank.com',
    'bank.com∕login',
    'bank.com／login',
    'bank.com⧸login',
    'a∶b',
    'a：b',
  ],
  'full-width letters': ['ｒｍ －ｒｆ', 'ＡＤＭＩＮ', '１００'],
  'mathematical letters': ['𝐫𝐦 -rf', '𝟭𝟬𝟬', '𝚊𝚍𝚖𝚒𝚗', 'ℯval'],
  'digits of other scripts': ['𑁦00', '߁00', '٠1', '1٠0'],
  'hidden characters': [
    'rm\u200b -rf',
    'a\u202eb',
    'a\u2066b',
    'a\u00adb',
    'a\u{e0041}b',
    'a\ufe0fb',
    'a\u034fb',
    'a\u3164b',
    'a\u115fb',
    'a\u2800b',
    'a\ufeffb',
  ],
  spaces: ['a\u00a0b', 'a\u2003b', 'a\u3000b', 'a\u2028b', 'a\u0085b'],
  'marks upon letters': ['a̸', 'n͏o', `a${'\u0301'.repeat(20)}`],
  'letters joined': ['ﬁle', '㎏', '℀', '㏂'],
  'Latin of other blocks': ['ɡoogle.com', 'ɑdmin', 'ƽ00', 'ǃimportant', 'ɩogin', 'ꞌx'],
  'emoji as letters': ['🅰dmin', '🅰🅳🅼🅸🅽'],
}

/** Texts of people who write so: shown as they are. */
const honest = [
  'Zürich – café',
  'naïve',
  'Größe',
  'Привет, мир',
  'Γειά σου',
  '東京',
  'こんにちは',
  '안녕하세요',
  'مرحبا',
  'שלום',
  'नमस्ते',
  'Łódź',
  'İstanbul',
  'Việt Nam',
  '100 €',
  'a/b',
  '"x"',
  "it's",
]

/** Milliseconds of the processor that it takes to make a text visible. */
function timeToShow(text: string): number {
  const before = process.cpuUsage()
  visible(text)
  return process.cpuUsage(before).user / 1_000
}

export const display = area('What a person is shown', [
  ...Object.entries(imitations).map(([kind, texts]) => ({
    id: `shown-${kind.toLowerCase().replaceAll(' ', '-')}`,
    holds: `Imitations by ${kind} are shown as escapes.`,
    ...(kind === 'look-alikes among words of their own language'
      ? { leftOpen: 'a text in that script may have such words, and stays readable' }
      : {}),
    run: () => {
      const raw = texts.filter((text) => visible(text) === text)
      holds(
        raw.length === 0,
        `shown as they are: ${raw
          .map(
            (text) =>
              `${text} (${[...text]
                .filter((each) => each > '\u007e')
                .map((each) => `U+${each.codePointAt(0)!.toString(16).toUpperCase()}`)
                .join(' ')})`,
          )
          .join(', ')}`,
      )
      return Promise.resolve()
    },
  })),
  {
    id: 'shown-honest',
    holds: 'What people of other languages write is shown as it is.',
    run: () => {
      const escaped = honest.filter((text) => visible(text) !== text)
      holds(escaped.length === 0, `escaped: ${escaped.map((text) => `${text} as ${visible(text)}`).join(', ')}`)
      return Promise.resolve()
    },
  },
  {
    id: 'shown-long',
    holds: 'A text of 200,000 strange characters is made visible in a time that grows as its length does.',
    run: () => {
      for (const unit of [
        '\u0301',
        'a\u0301\u0302\u0303',
        'о',
        'aо',
        '\u00a0',
        '\u200d',
        '\ud800',
        '漢',
        'Ａ',
        '\u{e0041}',
        '1о',
        '_',
      ]) {
        const [short, long] = [25_000, 200_000].map((length) => unit.repeat(Math.floor(length / unit.length)))
        const inShort = Math.max(timeToShow(short!), timeToShow(short!), 5)
        const inLong = timeToShow(long!)
        // eight times the text: what grows as the square of it takes 64 times as long
        holds(inLong < 24 * inShort, `U+${unit.codePointAt(0)!.toString(16)}: ${inShort} ms, then ${inLong} ms`)
      }
      return Promise.resolve()
    },
  },
])
