/** What somebody wrote, as it is shown to somebody else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bar, columnsOfText, cut, visible, visibleJson, visibleLine, visibleLines, wrapped } from '@reeve/core'

describe('nothing that is shown moves a cursor, hides, turns writing round or passes for another character', () => {
  test.each([
    ['an escape of the terminal, also of eight bits', '\u001b[2J\u009b2J', String.raw`\u001b[2J\u009b2J`],
    ['line ends and tabs', 'a\r\n\tb\u2028\u2029\u0085', String.raw`a\r\n\tb\u2028\u2029\u0085`],
    ['writing from right to left', 'acct-\u202e1234\u202c\u2066\u200f', String.raw`acct-\u202e1234\u202c\u2066\u200f`],
    ['no width', 'a\u200bb\u200d\u2060\ufeff\u00adc', String.raw`a\u200bb\u200d\u2060\ufeff\u00adc`],
    ['tags beyond the first plane', 'a\u{e0061}', String.raw`a\udb40\udc61`],
    ['no ink', 'a\u2800\u3164\u115f\u034f', String.raw`a\u2800\u3164\u115f\u034f`],
    ['spaces that are none', 'a\u00a0b\u2003c\u3000d', String.raw`a\u00a0b\u2003c\u3000d`],
    ['half a character, no character', '\ud800x\uffff\ue000', String.raw`\ud800x\uffff\ue000`],
    ['letters of another script in a Latin word', 'p\u0430ypal g\u03bfogle', String.raw`p\u0430ypal g\u03bfogle`],
    [
      'a word that only looks Latin',
      'pay \u0430\u0440\u0440\u04cf\u0435',
      String.raw`pay \u0430\u0440\u0440\u04cf\u0435`,
    ],
    ['digits of another script', '1\u09ea', String.raw`1\u09ea`],
    ['wide, mathematical and joined letters', '\uff41\u{1d41a}\ufb01', String.raw`\uff41\ud835\udc1a\ufb01`],
    ['signs that look like others', 'a\u2215b\u2236c\u2024d\u037e', String.raw`a\u2215b\u2236c\u2024d\u037e`],
    ['phonetic letters', 'c\u0251t', String.raw`c\u0251t`],
    [
      'marks drawn over a letter, or without one',
      'a\u0338 "\u0301 e\u0301\u0301\u0301',
      String.raw`a\u0338 "\u0301 e` + '\u0301\u0301' + String.raw`\u0301`,
    ],
  ])('%s', (_what, given, shown) => {
    expect(visible(given)).toBe(shown)
    expect(visible(shown)).toBe(shown)
  })

  test('what is ordinary shows itself: words of every script, accents, typography, arrows, emoji', () => {
    for (const text of [
      'Übergröße – “x” … ™ 10 m²',
      'Привет, у нас о том',
      'κόσμος και ρο',
      '日本語のGitHub',
      'שלום',
      'e\u0301 ñ ç',
      '→ ✓ ✗ ├─ 🙂',
      'a\\nb',
    ])
      expect(visible(text)).toBe(text)
  })

  test('a value is shown as JSON from which the same value is read: names of members, too', () => {
    const value = {
      'a\u202e': ['\u200b\n\u001b', { p: '\u0430bc', [String.raw`\u0041`]: '\ud83d\ude42\ud800' }],
      ['__proto__']: 1,
    }
    for (const indent of [undefined, 2]) {
      expect(JSON.parse(visibleJson(value, indent))).toEqual(value)
      expect(visibleJson(value, indent).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
    }
  })

  test('lines stay lines where a text may have them, and become spaces where it is one line', () => {
    expect(visibleLines('a\u001b\nb')).toEqual([String.raw`a\u001b`, 'b'])
    expect(visibleLine(' a\r\n\n b\u00a0c ')).toBe(String.raw`a b\u00a0c`)
  })
})

test('nothing is cut without saying how much', () => {
  expect(cut('x'.repeat(100), 100)).toBe('x'.repeat(100))
  expect(cut('x'.repeat(101), 20)).toBe(`${'x'.repeat(15)}…+86`)
  expect(cut('🙂'.repeat(20), 11)).toBe('🙂🙂🙂…+34')
})

describe('a line that is longer than the screen', () => {
  test('is broken between words', () => {
    expect(wrapped('  reason: the price has changed since it was approved', 30)).toEqual([
      '  reason: the price has ',
      '    │ changed since it was ',
      '    │ approved',
    ])
    expect(wrapped('first line behind the bar', 26, bar)).toEqual(['    │ first line behind ', '    │ the bar'])
  })

  test('is broken within a word that is longer than a line, where it stands', () => {
    expect(wrapped(`see ${'x'.repeat(40)} there`, 26)).toEqual([
      `see ${'x'.repeat(22)}`,
      `    │ ${'x'.repeat(18)} `,
      '    │ there',
    ])
  })

  test('wide characters count as two columns; no escape and no letter with its marks is broken', () => {
    expect(wrapped('送金送金送金 送金送金 🙂🙂🙂🙂🙂', 26)).toEqual(['送金送金送金 送金送金 ', '    │ 🙂🙂🙂🙂🙂'])
    expect(wrapped(`${'x'.repeat(18)}${visible('\u200b')}y`, 22)).toEqual(['x'.repeat(18), String.raw`    │ \u200by`])
    expect(wrapped(`${'x'.repeat(21)}e\u0301y`, 22)).toEqual(['x'.repeat(21), '    │ e\u0301y'])
  })

  test('every character is there once, no line is too wide, and no word is broken that fits a line', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '送', '🙂', '\u200b', 'e\u0301', '-'), maxLength: 60 })
    const text = fc.array(fc.oneof(word, fc.constant('')), { maxLength: 30 }).map((words) => visible(words.join(' ')))
    fc.assert(
      fc.property(text, fc.integer({ min: 26, max: 90 }), fc.constantFrom('', bar), (line, columns, before) => {
        const lines = wrapped(line, columns, before)
        const parts = lines.map((each, i) => each.slice((i === 0 ? before : bar).length))
        expect(parts.join('')).toBe(line)
        for (const each of lines) expect(columnsOfText(each)).toBeLessThanOrEqual(columns)
        let at = 0
        for (const part of parts.slice(0, -1)) {
          at += part.length
          if (line[at - 1] === ' ' || line[at] === ' ') continue
          const word = line.slice(line.lastIndexOf(' ', at - 1) + 1).split(' ')[0]!
          expect(columnsOfText(word)).toBeGreaterThan(columns - columnsOfText(bar) - 5)
        }
      }),
    )
  })
})

/** Ordinary sentences, with names of products, numbers, addresses and quotes as people write them. */
const honest: Readonly<Record<string, readonly string[]>> = {
  en: [
    'Don’t pay the invoice – it’s a “test”… see https://example.com/a?b=c#d or mail bob@example.com.',
    'Paris–Berlin 1990–2000, 10 × 20 cm, 5 °C, naïve café, résumé',
    'He said — and I quote — “never”.',
    'O’Brien’s node.js app costs $1,000.50 (20% off)!',
  ],
  de: [
    'Die Straße in München heißt „Übergröße“ – 1.000,50 € für Äpfel.',
    'Bücher kaufen: https://bücher.example/straße',
  ],
  fr: ['L’été à Noël coûte 20 € ; « voilà » dit-elle, œuvre cœur Æsop.', 'Ça va ? C’est déjà fini…'],
  es: ['¿Cuánto cuesta el niño? ¡Mañana!'],
  pt: ['Não há ações: informações e coração.'],
  pl: ['Zażółć gęślą jaźń, „cytat” łódź.'],
  cs: ['Příliš žluťoučký kůň úpěl ďábelské ódy.'],
  tr: ['Kırmızı ışık yandı, şoför İstanbul’a döndü.', 'Isparta’da kapı açık, ağır iş.'],
  vi: ['Tôi muốn mua một chiếc xe hơi mới ở Việt Nam, ngày 20/11.', 'Người dùng ứng dụng đăng nhập, ươn ưỡn ờ.'],
  ha: ['Ƙungiyar ta ɗauki ɓarayi, ƴan Nijeriya.'],
  az: ['Azərbaycan dövləti: əziz dostlar, bu gözəl gündür.'],
  ee: ['Eɖe nye gbe aɖe, ɖevi la ɖu nu ɔ.'],
  ru: [
    'Привет, у нас о том, что в магазине купили сахар и сок у Apple.',
    'Оплатить счёт №25 на 1000 рублей, т.е. сегодня, 10кг и/или 5 шт.',
    'COVID-19 и iPhone от Apple, 3D-модель, он сказал: «да».',
    'с Google на ты — а у нас хор и роса',
  ],
  uk: ['Київ – столиця України; п’ять об’єктів, їжак і ґанок.'],
  sr: ['Србија је лепа земља, а Београд је главни град.'],
  bg: ['България е красива страна на Балканите.'],
  el: ['Καλημέρα κόσμε, η Αθήνα και ο Πειραιάς με το React.', 'κόσμος και ρο'],
  hy: ['Բարեւ ձեզ, ինչպես եք։ Հայաստանը գեղեցիկ է։'],
  ka: ['გამარჯობა, როგორ ხარ დღეს? ყველაფერი კარგად არის.'],
  he: ['שלום עולם, שילמתי 100 שקל ל-Amazon עבור הספר.', 'מנכ״ל החברה צה״ל ג׳ירפה'],
  ar: [
    'مرحبا بالعالم، دفعت ١٠٠ ريال لشركة Amazon اليوم.',
    'مُحَمَّدٌ رسول، هل أنت بخير؟ السعر 250 درهما.',
    'خدمة الـAPI جاهزة',
  ],
  fa: ['می‌خواهم ۵۰ تومان پرداخت کنم، کتاب‌ها خوب است.'],
  ur: ['یہ ایک اچھا دن ہے۔ ہم کل لاہور جائیں گے۔'],
  hi: ['नमस्ते दुनिया, आज React का उपयोग करें। मूल्य १०० रुपये है।', 'क्‍ष और दुःख'],
  bn: ['আমি আজ ১০০ টাকা দিয়েছি, ধন্যবাদ।'],
  ta: ['வணக்கம் உலகம், இன்று நல்ல நாள்.'],
  te: ['నమస్కారం ప్రపంచం, ఈ రోజు మంచిది.'],
  ml: ['നമസ്കാരം ലോകം, ഇന്ന് നല്ല ദിവസം.'],
  th: ['สวัสดีครับ วันนี้ใช้Reactในการพัฒนา ราคา 100 บาท ค่าน้ำ'],
  lo: ['ສະບາຍດີ ມື້ນີ້ອາກາດດີ.'],
  km: ['សួស្តីពិភពលោក'],
  my: ['မြန်မာနိုင်ငံ ကြောင့် ကောင်းပါတယ်။'],
  bo: ['བཀྲ་ཤིས་བདེ་ལེགས། བསྒྲུབས།'],
  am: ['ሰላም ዓለም፣ ዛሬ ጥሩ ቀን ነው።'],
  zh: [
    '你好，世界！我们使用React和Vue，价格：100元。',
    '支持React、Vue（前端）；后端用Node.js，然后部署到AWS。',
    '他说：“没问题”，二〇二四年一月。',
    '网址：https://example.com/a，请看',
  ],
  zt: ['這個「專案」使用TypeScript撰寫，謝謝您。'],
  ja: [
    '東京でReactを使う。',
    '日本語のGitHub、ユーザーIDとサーバーAの設定（テスト）！',
    'パソコンのノート、ー、カタカナとひらがな。',
    '詳しくはhttps://example.com/pathを見てください。',
    'データー・ベース',
  ],
  ko: ['안녕하세요, React는 서울에서 사용합니다.', 'USB케이블과 iPhone을 샀어요. ㅋㅋㅋ'],
  emoji: ['👍 ❤️ 👨‍👩‍👧 🏳️‍🌈 👋🏽 🇩🇪 ✅ ⚠️ 🙂 ☕️', 'Done ✅ – ship it 🚀!'],
  sym: ['→ ✓ ✗ ├─ │ └─ ● ■ ▲ ™ © ® § ¶ ± ≤ ≥ ≠ ∞ √ ∑ € £ ¥ ₹ ½ ²'],
}

describe('honest text stays readable', () => {
  test.each(Object.entries(honest))('%s', (_language, texts) => {
    for (const text of texts) expect(visible(text)).toBe(text)
  })
})

/** What imitates something else: each is shown with at least one escape. */
const imitating: Readonly<Record<string, string>> = {
  'katakana no as slash': 'https://bank.comノlogin.evil.example',
  'hiragana n as /': 'https://bank.comんlogin.evil.example',
  'hangul i as l': 'paypaㅣ.com',
  'hangul ieung as o': 'gㅇㅇgle.com',
  'han zero': '1〇〇 EUR',
  'dotless i': 'mıcrosoft.com',
  'hyphen U+2010': 'my‐bank.com',
  'minus U+2212': '−100',
  'U+02D7': 'my˗bank',
  'fake quote U+02BA': 'ok ʺ, ʺamountʺ: ʺ1ʺ',
  'fake quote ″': 'ok″, ″amount″: 1',
  'fake curly': 'ok“, “amount“: 1',
  Lisu: 'ꓮꓑꓑꓡꓰ.com',
  Cherokee: 'ᎪᏢᏢᏞᎬ',
  Armenian: 'սոօ',
  'cyr whole': 'аррӏе.com',
  'cyr whole + one я': 'аррӏе.com я',
  'cyr user': 'Pay раура to х я',
  'low-9 quote comma': '1‚000',
  'U+FF0E': 'a．b',
  'one dot leader': 'a․com',
  'U+0701': 'a܁com',
  'arabic dot': 'a۔com',
  'middle dot katakana': 'a・com',
  'ideographic stop': 'a。com',
  'colon U+A789': 'a꞉b',
  ratio: 'a∶b',
  'slash 2CFF?': 'a⧸b',
  'U+1735': 'a᜵b',
  'U+2571': 'a╱b',
  'U+27CB': 'a⟋b',
  'U+4E3F': 'a丿b',
  'U+31D3': 'a㇓b',
  'U+0338': 'a̸b',
  'U+23AE': 'a⎮b',
  'Hangul filler': 'aㅤb',
  VS16: 'a️b',
  tag: 'a\u{E0041}b',
  zwj: 'a‍b',
  rlo: 'a‮b',
  'rtl mark arabic mix': 'admin ا 1 - 2',
  'hebrew number reorder': 'pay 5 א 10',
  zalgo: 'Z̷̛̦a̵l̶g̸o',
  'latin ext l stroke': 'paypaⱡ',
  'Ɩ U+0196': 'paypaƖ',
  ſ: 'paſs',
  ȷ: 'ȷ',
  'small caps ꜱ': 'ꜱecret',
  ᴏ: 'ᴏ',
  Ƽ: 'Ƽ00 EUR (U+01BC for 5)',
  Ʒ: 'Ʒ00',
  ǃ: 'a\u01c3',
  Ꭰ: 'Ꭰ',
  'U+A4FD lisu': 'ꓽ',
  'math alnum': '𝐩𝐚𝐲',
  circled: 'ⓟⓐⓨ',
  'U+05F3': '1׳000',
  'U+066B arabic decimal': '1٫5',
  'U+066C': '1٬000',
  'arabic digits': '١٠٠ USD',
  'persian 5': '۵۰ USD',
  nko: '߀',
  'bengali 4 looks 8': '৪ USD',
  bengali: '৪00',
  'oriya 0': '୦ USD',
}

describe('what imitates something else is shown as escapes', () => {
  const harmless = ['latin ext l stroke'] // two bars through its stem
  test.each(Object.entries(imitating).filter(([what]) => !harmless.includes(what)))('%s', (_what, text) => {
    expect(visible(text)).not.toBe(text)
    expect(visible(visible(text))).toBe(visible(text))
  })
})

test('whatever is written, showing it twice is showing it once, and JSON reads back as it was', () => {
  const characters = [...new Set([...Object.values(honest).flat(), ...Object.values(imitating)].join(''))]
  const text = fc.string({ unit: fc.constantFrom(...characters, '\\', '"', '\\u0430', '\n'), maxLength: 40 })
  fc.assert(
    fc.property(text, (given) => {
      expect(visible(visible(given))).toBe(visible(given))
      const value = { [given]: [given] }
      expect(JSON.parse(visibleJson(value))).toEqual(value)
    }),
    { numRuns: 500, examples: [['\u4ed6\u09cd\u200dD'], ['\u094d\u200dD'], ['\u0915\u094d\u200d\u0334']] },
  )
})

test('a long line takes time in proportion to its length, whatever is in it', () => {
  const cost = (text: string): number => {
    const before = process.cpuUsage().user
    visible(text)
    return process.cpuUsage().user - before
  }
  for (const piece of [
    '\u0430\u0440\u0440 ',
    '\u0661 ',
    '\u0430.',
    'a.\u30ce',
    '\u201c',
    '\u05d0 1',
    '\u2014',
    'a\u30ce',
  ]) {
    cost(piece.repeat(1_000))
    const short = Math.max(5_000, cost(piece.repeat(5_000)))
    expect(cost(piece.repeat(50_000))).toBeLessThan(short * 40)
  }
})
