import { describe, expect, it } from 'vitest'
import { commentsOf } from '../../src/demo/survey/comments.ts'
import { licenceClass, statedLicence } from '../../src/demo/survey/licences.ts'
import { lockedFor, readLock } from '../../src/demo/survey/locks.ts'
import { readManifest } from '../../src/demo/survey/manifests.ts'
import { readMarkdown, slugOf } from '../../src/demo/survey/markdown.ts'
import { isSecretName, mask, secretsIn, withoutSecrets } from '../../src/demo/survey/secret-rules.ts'
import { raw } from './folder.ts'

const targets = (text: string): string[] => readMarkdown(text).links.map(({ target }) => target)

describe('reading Markdown', () => {
  it.each([
    ['[a](b.md "title") [c](d.md \'t\') [e](f.md (t))', ['b.md', 'd.md', 'f.md']],
    ['[![img](i.png)](page.md)', ['i.png', 'page.md']],
    ['[a](b(1).md) [c](<d e.md>) [f](g\\(h.md)', ['b(1).md', 'd e.md', 'g(h.md']],
    ['[a](b&amp;c.md)', ['b&c.md']],
    ['[wrapped\nlabel](x.md) and [a](\n  y.md)', ['x.md', 'y.md']],
    ['[not closed](x.md', []],
    ['f(x)[0](y) is code-like, a](b) is not a link', ['y']],
    ['`a` [b](c.md) `d', ['c.md']],
    ['``[a](b.md) ` `` [c](d.md)', ['d.md']],
    ['~~~\n[a](b.md)\n```\n[c](d.md)\n~~~\n[e](f.md)', ['f.md']],
    ['- item\n\n      [in a list](x.md)', ['x.md']],
    ['- ```\n  [a](b.md)\n  ```\n- [c](d.md)', ['d.md']],
    ['<!-- [a](b.md)\n[c](d.md) --> [e](f.md)', ['f.md']],
    ['[^1]: note.md\n[x]: <a b.md>\n[y]: c.md (t)', ['a b.md', 'c.md']],
    ['---\ntitle: "[a](b.md)"\n---\n[c](d.md)', ['d.md']],
    ["| a | b |\n|---|---|\n| [x](y.md) | `[z](w.md)` |\n\n<a href='q.md'>q</a>", ['y.md', 'q.md']],
  ])('%j', (text, expected) => {
    expect(targets(text)).toEqual(expected)
  })

  it('knows the line of each link, in paragraphs and after code', () => {
    const page = readMarkdown('# T\r\n\r\ntext\r\n[a](b.md)\r\n\r\n```\r\nx\r\n```\r\n[c](d.md)\r\n')
    expect(page.links.map(({ line }) => line)).toEqual([4, 9])
  })

  it.each([
    ['Getting *started*!', 'getting-started'],
    ['The `code_name()` method', 'the-code_name-method'],
    ['snake_case and _emphasis_', 'snake_case-and-emphasis'],
    ['C++ & C#', 'c--c'],
    ['🚀 Start', '-start'],
    ['Ärger über Ø', 'ärger-über-ø'],
    ['A [link](x.md) here', 'a-link-here'],
    ['2. \\<nodejs.org> access', '2-nodejsorg-access'],
    ['What&amp;Why?', 'whatwhy'],
    ['`Array<string>`', 'arraystring'],
    ['a - b', 'a---b'],
  ])('gives %j the anchor %j', (heading, slug) => {
    expect(slugOf(heading)).toBe(slug)
  })

  it('offers the anchors of all kinds of headings', () => {
    const text =
      '# A\n## A\nSetext\n---\n> ### Quoted\n<a id="own"></a>\n## Named {#named}\n## Closed ##\n```\n# not\n```\n<h2 align="center">Html <b>one</b></h2>'
    const anchors = [...readMarkdown(text).anchors]
    expect(anchors).toEqual(expect.arrayContaining(['a', 'a-1', 'setext', 'quoted', 'own', 'named', 'closed', 'html-one']))
    expect(anchors).not.toContain('not')
  })
})

describe('reading comments', () => {
  const comments = (text: string, style: Parameters<typeof commentsOf>[1]): string[] | undefined =>
    commentsOf(text, style)?.map((comment) => comment.trim())
  it.each([
    ['const a = "// no" // yes', ['// yes']],
    ['const r = /[\'"`]/ // yes', ['// yes']],
    ['const r = a / b // yes', ['// yes']],
    ['const t = `// no ${f(`// no`, { a: 1 })} // no` // yes', ['// yes']],
    ['`\n// no\n` // yes', ['', '', '// yes']],
    ['/* one\ntwo */ code // three', ['one', 'two  // three']],
    ["it's // yes", ['// yes']],
    ['<b>{/* yes */}</b>', ['yes']],
    ["const u = 'https://x' + y", ['']],
  ])('of a script: %j', (text, expected) => {
    expect(comments(text, 'script')).toEqual(expected)
  })
  it.each([
    ['x = "# no" # yes', 'hash', ['# yes']],
    ['echo $# ${#a} # yes', 'hash', ['# yes']],
    ['"""\ndoc\n"""\nx = 1', 'hash', ['', 'doc', '', '']],
    ["select '-- no' -- yes", 'sql', ['-- yes']],
    ['<p>http://no</p> <!-- yes -->', 'markup', ['yes']],
  ] as const)('of other languages: %j as %s', (text, style, expected) => {
    expect(comments(text, style)).toEqual(expected)
  })
})

describe('recognising secrets', () => {
  const kinds = (line: string, following = '', bare = false): string[] => secretsIn(line, following, bare).map(({ kind }) => kind)
  it.each([
    'const password = getPassword("user-1234567890")',
    'password: "Enter your password"',
    "const token = 'forgot-password-link'",
    'const token = "process.env.TOKEN_2024"',
    "secretName: 'production-db-credentials-1'",
    'maxTokens: "1234567890ab"',
    "apiKey: '${API_KEY}'",
    "token = '{{ secrets.TOKEN_1 }}'",
    "password: '****************'",
    "password = 'password1234'",
    "url: 'postgres://user:password@localhost/db'",
    "secret: '/run/secrets/db_password_1'",
    "token: 'https://example.org/token/1'",
    'const token = "?NonIdentifierStart"',
    "const header = '-----BEGIN " + "PRIVATE KEY-----'",
    'key = AK' + 'IAAAAAAAAAAAAAAAAA',
  ])('passes over %j', (line) => {
    expect(kinds(line)).toEqual([])
  })

  it('wants a key after the header, on the next line or in the same string', () => {
    const header = '-----BEGIN ' + 'PRIVATE KEY-----'
    expect(kinds(header, `\n${raw.keyBody}`)).toEqual(['private-key'])
    expect(kinds(`"${header}\\n${raw.keyBody}\\n"`)).toEqual(['private-key'])
    expect(kinds(header, '\n...\n')).toEqual([])
  })

  it('knows a web token by its parts, and the well-known example', () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = (sub: string): string => `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, iat: 1 })}.${'Zx81kLmQ02vBtY7c'}`
    expect(kinds(`auth ${token('ann-of-the-shop')}`)).toEqual(['jwt'])
    expect(kinds(`auth ${token('1234567890')}`)).toEqual([])
    expect(kinds('eyJhbGciOiJub3Q.eyJhbGciOiJub3Q.eyJhbGciOiJub3Q')).toEqual([])
  })

  it('finds settings without quotes only where they are written so', () => {
    expect(kinds(`DB_PASSWORD=${raw.phrase}`)).toEqual([])
    expect(kinds(`export DB_PASSWORD=${raw.phrase} # live`, '', true)).toEqual(['assigned-secret'])
    expect(kinds(`url: postgres://ann:${raw.setting}@db/shop`)).toEqual(['url-password'])
  })

  it('never shows more than a third of a value', () => {
    expect(mask('abcdefghijkl')).toBe('abcd…12')
    expect(mask('abcdefghijk')).toBe('…11')
    expect(withoutSecrets(`see ${raw.github} at https://ann:x@example.com/`)).toBe('see ghp_…40 at https://…@example.com/')
  })

  it('masks what a quoted command line says', () => {
    const line = `NPM_TOKEN=${raw.setting} npm test --token ${raw.phrase} -H "Authorization: Bearer ${raw.setting}"`
    expect(withoutSecrets(line)).toBe('NPM_TOKEN=v9Kd…16 npm test --token tr7!…12 -H "Authorization: Bearer v9Kd…16"')
    expect(withoutSecrets('the token marker and a password field')).toBe('the token marker and a password field')
  })

  it('tells a secret’s name from a name about secrets', () => {
    expect(['DB_PASSWORD', 'apiKey', 'NPM_TOKEN', 'client_secret'].map(isSecretName)).toEqual([true, true, true, true])
    expect(['TOKEN_URL', 'PASSWORD_FILE', 'TOKENS', 'NODE_ENV'].map(isSecretName)).toEqual([false, false, false, false])
  })
})

describe('reading lock files', () => {
  const names = (file: string, text: string): string[] | undefined =>
    readLock(file, text)?.packages.map(({ name, version }) => `${name}@${version}`)
  it('of yarn, old and new', () => {
    expect(
      names(
        'yarn.lock',
        '# yarn lockfile v1\n\n"@a/b@^1.0.0", "@a/b@^1.2.0":\n  version "1.2.3"\n  dependencies:\n    c "^1"\n\nc@^1:\n  version "1.0.0"\n',
      ),
    ).toEqual(['@a/b@1.2.3', 'c@1.0.0'])
    expect(
      names('yarn.lock', '__metadata:\n  version: 8\n\n"c@npm:^1":\n  version: 1.0.1\n\n"own@workspace:.":\n  version: 0.0.0-use.local\n'),
    ).toEqual(['c@1.0.1'])
  })
  it('of pnpm, three generations', () => {
    expect(
      names(
        'pnpm-lock.yaml',
        "lockfileVersion: '9.0'\nimporters:\n\n  .:\n    dependencies:\n      a:\n        version: 1.0.0\npackages:\n\n  a@1.0.0:\n    resolution: {}\n\n  '@s/b@2.0.0(a@1.0.0)':\n    resolution: {}\nsnapshots:\n\n  a@1.0.0: {}\n",
      ),
    ).toEqual(['a@1.0.0', '@s/b@2.0.0'])
    expect(names('pnpm-lock.yaml', 'packages:\n\n  /a@1.0.0:\n    dev: true\n  /@s/b@2.0.0(a@1.0.0):\n    dev: true\n')).toEqual([
      'a@1.0.0',
      '@s/b@2.0.0',
    ])
    expect(names('pnpm-lock.yaml', 'packages:\n\n  /a/1.0.0:\n    dev: true\n  /@s/b/2.0.0_a@1.0.0:\n    dev: true\n')).toEqual([
      'a@1.0.0',
      '@s/b@2.0.0',
    ])
  })
  it('of npm before version 7, of Cargo and of Go', () => {
    const old = JSON.stringify({ lockfileVersion: 1, dependencies: { a: { version: '1.0.0', dependencies: { b: { version: '2.0.0' } } } } })
    expect(names('package-lock.json', old)).toEqual(['a@1.0.0', 'b@2.0.0'])
    expect(names('Cargo.lock', 'version = 4\n\n[[package]]\nname = "serde"\nversion = "1.0.1"\n')).toEqual(['serde@1.0.1'])
    expect(names('go.sum', 'x.org/a v1.0.0 h1:x=\nx.org/a v1.0.0/go.mod h1:x=\n')).toEqual(['x.org/a@v1.0.0'])
    expect(readLock('package-lock.json', '{')).toBeNull()
  })
  it('resolves as npm does, nearest first', () => {
    const lock = readLock(
      'sub/package-lock.json',
      JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' }, 'p/node_modules/a': { version: '2.0.0' } } }),
    )
    if (lock === null) throw new Error('the lock file was not read')
    expect([
      lockedFor(lock, 'sub', 'a'),
      lockedFor(lock, 'sub/p', 'a'),
      lockedFor(lock, 'sub/q/r', 'a'),
      lockedFor(lock, 'sub', 'b'),
    ]).toMatchObject([{ version: '1.0.0' }, { version: '2.0.0' }, { version: '1.0.0' }, null])
  })
})

describe('reading manifests', () => {
  const declared = (file: string, text: string): string[] | undefined =>
    readManifest(file, text)?.declared.map(({ name, range, kind, line }) => `${line} ${kind} ${name} ${range}`.trim())
  it('of Python', () => {
    expect(
      declared(
        'requirements.txt',
        '# c\nflask==2.0.1 ; python_version > "3"\n-r other.txt\nrequests[socks]>=2,<3  # c\n\n./local\nnumpy\n',
      ),
    ).toEqual(['2 runtime flask ==2.0.1', '4 runtime requests >=2,<3', '7 runtime numpy'])
    expect(
      declared(
        'pyproject.toml',
        '[project]\nname = "x"\ndependencies = [\n  "flask>=2", # web\n  "uvicorn[standard]",\n]\n[project.optional-dependencies]\ndev = ["pytest~=8.0"]\n[tool.poetry.dependencies]\npython = "^3.12"\nhttpx = {version = "^0.27", extras = ["http2"]}\n',
      ),
    ).toEqual(['4 runtime flask >=2', '5 runtime uvicorn', '8 optional pytest ~=8.0', '11 runtime httpx ^0.27'])
  })
  it('of Go and Rust', () => {
    expect(
      declared(
        'go.mod',
        'module x.org/m\n\ngo 1.23\n\nrequire (\n\tx.org/a v1.0.0\n\tx.org/b v1.1.0 // indirect\n)\nrequire x.org/c v2.0.0 // why\n',
      ),
    ).toEqual(['6 runtime x.org/a v1.0.0', '9 runtime x.org/c v2.0.0'])
    expect(
      declared(
        'Cargo.toml',
        '[package]\nname = "m"\n[dependencies]\nserde = { version = "1", features = ["derive"] }\n[dependencies.tokio]\nversion = "1.40"\nfeatures = ["full"]\n[dev-dependencies]\ninsta = "1"\n',
      ),
    ).toEqual(['4 runtime serde 1', '6 runtime tokio 1.40', '9 development insta 1'])
  })
  it('masks credentials in a range and refuses what is no JSON', () => {
    expect(declared('package.json', '{"dependencies":{"a":"git+https://ann:hunter2hunter@x.org/a.git"}}')).toEqual([
      '1 runtime a git+https://…@x.org/a.git',
    ])
    expect(readManifest('package.json', '{ "dependencies": ')).toBeNull()
  })
})

describe('classing licences', () => {
  it.each([
    ['MIT', 'permissive'],
    ['(MIT OR GPL-3.0)', 'permissive'],
    ['MIT AND GPL-2.0-only', 'strong-copyleft'],
    ['(MIT AND (Apache-2.0 OR LGPL-2.1))', 'permissive'],
    ['GPL-2.0 WITH Classpath-exception-2.0', 'weak-copyleft'],
    ['LGPL-3.0-or-later', 'weak-copyleft'],
    ['AGPL-3.0', 'network-copyleft'],
    ['GPLv3', 'strong-copyleft'],
    ['SEE LICENSE IN LICENSE.md', 'other'],
    ['UNLICENSED', 'other'],
    ['Unlicense', 'permissive'],
  ])('%s is %s', (licence, expected) => {
    expect(licenceClass(licence)).toBe(expected)
  })
  it('reads the old ways to state one', () => {
    expect(
      [{ license: { type: 'MIT' } }, { licenses: [{ type: 'MIT' }, { type: 'BSD' }] }, { licenses: [] }, {}].map(statedLicence),
    ).toEqual(['MIT', '(MIT OR BSD)', null, null])
  })
})
