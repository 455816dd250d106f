/** Markdown of models: its forms, and that no text of theirs hides a character or becomes anything but text. */
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linkAddress, markdownTree, type MarkdownBlock } from '../../src/ui/markdown-tree.ts'
import { gazetteText } from '../run-agents.ts'

/** By names that the compiler does not follow: the types of React and of the page are none of a test's. */
const load = async <T>(specifier: string): Promise<T> => (await import(specifier)) as T
const { createElement } = await load<{ createElement: (type: unknown, props: object) => unknown }>('react')
const { renderToStaticMarkup } = await load<{ renderToStaticMarkup: (element: unknown) => string }>('react-dom/server')
const { Markdown } = await load<{ Markdown: unknown }>(join(import.meta.dirname, '../../src/ui/markdown.tsx'))

const drawn = (text: string): string => {
  const blocks = markdownTree(text)
  return blocks === undefined ? '' : renderToStaticMarkup(createElement(Markdown, { blocks, level: 3 }))
}
const textIn = (html: string): string =>
  html
    .replaceAll(/<br\/?>|<\/(?:p|li|h\d|td|th|pre|tr)>/g, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')

describe('Markdown', () => {
  test('has headings without gaps, lists, tables with their sides, code, quotes and rules', () => {
    const html = drawn(
      '## a\n\n#### b\n\n## c\n\n3. x\n   - y\n\n|l|r|\n|--|-:|\n|1|2|\n\n```ts\nlet x\n```\n\n> q\n\n---',
    )
    for (const part of [
      '<h3><bdi>a</bdi></h3><h4><bdi>b</bdi></h4><h3><bdi>c</bdi></h3>',
      '<ol start="3"><li><bdi>x</bdi><ul><li><bdi>y</bdi></li></ul></li></ol>',
      '<td class="left"><bdi>1</bdi></td><td class="right"><bdi>2</bdi></td>',
      'aria-label="Code, ts"',
      '<blockquote><p><bdi>q</bdi></p></blockquote><hr/>',
    ])
      expect(html).toContain(part)
  })

  test('a text without a form is none: its lines and spaces stay as they are', () => {
    expect(markdownTree('Dear Mia,\n\n  your parcel')).toBeUndefined()
    expect(markdownTree('1 * 2 * 3, a_b_c')).toBeUndefined()
    expect(markdownTree('a **b**')).toBeDefined()
  })

  test('a link shows its address, unless that is its text, and opens without a way back', () => {
    expect(drawn('[list](https://a.example/b)')).toBe(
      '<div class="markdown"><p><bdi><a href="https://a.example/b" target="_blank" rel="noopener noreferrer nofollow">list</a>' +
        '<span class="muted"> (<bdi><span>https://a.example/b</span></bdi>)</span></bdi></p></div>',
    )
    expect(textIn(drawn('<https://a.example/>')).trim()).toBe('https://a.example/')
    expect(textIn(drawn('[https://bank.example](https://evil.example)'))).toContain(
      'https://bank.example (https://evil.example/)',
    )
    // a host in another alphabet is shown as it is asked for
    expect(textIn(drawn('[a](https://p\u0430ypal.example)'))).toContain('https://xn--pypal-4ve.example/')
  })

  test('addresses that a page must not open are text', () => {
    for (const address of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      ' javascript:alert(1)',
      'java\tscript:alert(1)',
      'vbscript:x',
      'data:text/html,x',
      'data:image/png;base64,x',
      'file:///etc/passwd',
      'blob:https://a.example/x',
      '/runs/run_x',
      '//evil.example',
      '../how-to/server.md',
      'https:',
    ]) {
      expect([address, linkAddress(address)]).toEqual([address, undefined])
      for (const text of [`[x](${address})`, `![x](${address})`, `<${address}>`, `[x]\n\n[x]: ${address}`])
        expect(drawn(`# t\n\n${text}`)).not.toContain('href')
    }
  })

  test('HTML, scripts and pictures of the attack are text and links', () => {
    const html = drawn(gazetteText)
    expect(html).not.toMatch(/<(?:script|img|iframe|svg|style|object)|<[^>]*\son\w+=|srcdoc/i)
    for (const [, address] of html.matchAll(/href="([^"]*)"/g)) expect(address).toMatch(/^https:/)
    expect(textIn(html)).toContain('Picture: a picture (https://evil.example.com/pixel.png)')
    expect(textIn(html)).toContain('<script>document.title="owned"</script>')
  })

  test('a letter that passes for another is found, also where a form stands in between', () => {
    expect(textIn(drawn('p**\u0430**ypal **b**'))).toContain(String.raw`p\u0430ypal`)
    expect(textIn(drawn('pay[\u0440al](https://a.example) **b**'))).toContain(String.raw`pay\u0440al`)
    expect(textIn(drawn('&#x202e;**b**'))).toContain(String.raw`\u202e`)
    expect(textIn(drawn('a\0b **c**\rd'))).toContain(String.raw`a\u0000b c\rd`)
  })

  test('whatever a model writes, every character of what is read is visible', () => {
    const forms = ['**', '_', '`', '\n', '\n\n', '# ', '- ', '|', '[a](b)', '![', '](https://a.example)', '> ', '```\n']
    const attacks = [
      '\u202e',
      '\u200b',
      '\u0430',
      '\u001b[31m',
      '\u0301',
      '\ud800',
      '\u00ad',
      '\t',
      '&#8238;',
      '<b>',
      '\\',
    ]
    const piece = fc.constantFrom(...forms, ...attacks, 'pay', '~~', '&amp;', '1. ')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const read = textIn(drawn(pieces.join('')))
        expect(read).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}]/u)
        // a letter that stands alone passes for nothing
        expect(read).not.toMatch(/[a-z]\u0430|\u0430[a-z]/)
      }),
    )
  })

  test('texts that are made to be slow, or deep, are read in their time', () => {
    const n = 8_000
    const slow = [
      ...['[', '![', '>', '> ', '- ', '*a ', '**a *a ', '<', '`', '|a', '*_', '~a~~', '\\', '&', '#', '('].map((each) =>
        each.repeat(n / each.length),
      ),
      `${'['.repeat(n / 2)}${']'.repeat(n / 2)}`,
      `${'a.'.repeat(n / 2)}@`,
      `http://a${')'.repeat(n)}`,
      `[a]: b\n${'[a] '.repeat(n / 4)}`,
      Array.from({ length: 200 }, (_, i) => `${' '.repeat(i * 2)}- a`).join('\n'),
    ]
    const depth = (blocks: readonly MarkdownBlock[]): number =>
      1 +
      Math.max(
        0,
        ...blocks.map((block) => ('children' in block && block.type !== 'inline' ? depth(block.children) : 0)),
      )
    for (const text of slow) {
      const began = performance.now()
      expect(depth(markdownTree(text) ?? [])).toBeLessThan(50)
      expect([text.slice(0, 10), performance.now() - began < 2_000]).toEqual([text.slice(0, 10), true])
    }
  })
})
