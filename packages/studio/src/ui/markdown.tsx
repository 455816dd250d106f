/**
 * Markdown of models, drawn: headings, lists, code, tables; links with their addresses; and the same as it was written.
 *
 * Owns: how the tree looks. Does not own: what is in it (markdown-tree.ts).
 * Holds: text only, never markup; no picture is loaded. `visible` judges a paragraph as it is read, so that a letter that
 * passes for another is found across bold and links. A link opens in a page that knows nothing of this one.
 */
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import type { CellAlign, MarkdownBlock, MarkdownInline, MarkdownLink } from './markdown-tree.ts'
import { Escape, visiblePieces, VisibleText, type VisiblePiece } from './visible-text.tsx'

type Parser = (text: string) => readonly MarkdownBlock[] | undefined
let parser: Parser | undefined

/** The grammar, once it is loaded. */
function useParser(): Parser | undefined {
  const [loaded, setLoaded] = useState<Parser | undefined>(() => parser)
  useEffect(() => {
    if (parser !== undefined) return
    import('./markdown-tree.ts').then(
      ({ markdownTree }) => {
        parser = markdownTree
        setLoaded(() => markdownTree)
      },
      // the text is there as it was written
      () => {},
    )
  }, [])
  return loaded
}

/** Longer texts are shown as they were written. Characters. */
const mostCharacters = 300_000
/** Blocks that are drawn at first, and more at each press. */
const shownBlocks = 300

/** The blocks of a text; undefined: it has no form but its lines, is too long, or the grammar is not there yet. */
export function useMarkdown(text: string | undefined): readonly MarkdownBlock[] | undefined {
  const parse = useParser()
  return useMemo(
    () => (text === undefined || parse === undefined || text.length > mostCharacters ? undefined : parse(text)),
    [parse, text],
  )
}

/** `level`: of the first headings, so that they stand below the one that the text belongs to. */
export function Markdown({ blocks, level }: { readonly blocks: readonly MarkdownBlock[]; readonly level: 2 | 3 | 4 }) {
  const [shown, setShown] = useState(shownBlocks)
  return (
    <div className="markdown">
      <Blocks blocks={blocks.slice(0, shown)} level={level} />
      {blocks.length > shown && (
        <button type="button" className="more" onClick={() => setShown(shown + 3 * shownBlocks)}>
          Show more ({blocks.length - shown} paragraphs left)
        </button>
      )}
    </div>
  )
}

function Blocks({ blocks, level }: { readonly blocks: readonly MarkdownBlock[]; readonly level: number }): ReactNode {
  // blocks have no identity but their number
  // oxlint-disable-next-line react/no-array-index-key
  return blocks.map((block, i) => <Block key={i} block={block} level={level} />)
}

function Block({ block, level }: { readonly block: MarkdownBlock; readonly level: number }) {
  switch (block.type) {
    case 'inline':
      return <Inline text={block.text} parts={block.children} />
    case 'rule':
      return <hr />
    case 'code':
      return (
        // A region that scrolls must be reachable by the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre
          tabIndex={0}
          role="region"
          aria-label={block.language === '' ? 'Code' : `Code, ${block.language.slice(0, 20)}`}
        >
          <code>
            <VisibleText lines>{block.text}</VisibleText>
          </code>
        </pre>
      )
    case 'heading': {
      const Heading = `h${Math.min(6, level + block.level)}` as 'h3'
      return (
        <Heading>
          <Blocks blocks={block.children} level={level} />
        </Heading>
      )
    }
    case 'table':
      return (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className="table-scroll" role="region" aria-label="Table" tabIndex={0}>
          <table>
            <Blocks blocks={block.children} level={level} />
          </table>
        </div>
      )
    case 'th':
    case 'td':
      return <Cell as={block.type} align={block.align} blocks={block.children} level={level} />
    case 'ol':
      return (
        <ol start={block.start}>
          <Blocks blocks={block.children} level={level} />
        </ol>
      )
    default: {
      const Tag = block.type
      return (
        <Tag>
          <Blocks blocks={block.children} level={level} />
        </Tag>
      )
    }
  }
}

function Cell(props: {
  readonly as: 'th' | 'td'
  readonly align: CellAlign
  readonly blocks: readonly MarkdownBlock[]
  readonly level: number
}) {
  const { as: Tag, align, blocks, level } = props
  return (
    <Tag className={align}>
      <Blocks blocks={blocks} level={level} />
    </Tag>
  )
}

/** A part of the text that is read, by its place in it. */
interface Stretch extends VisiblePiece {
  readonly from: number
  readonly to: number
}

/** A paragraph: judged as a whole, drawn in its parts. */
function Inline({ text, parts }: { readonly text: string; readonly parts: readonly MarkdownInline[] }) {
  const all = useMemo(() => stretchesOf(text), [text])
  return (
    <bdi>
      <Parts parts={parts} all={all} />
    </bdi>
  )
}

function Parts({
  parts,
  all,
}: {
  readonly parts: readonly MarkdownInline[]
  readonly all: readonly Stretch[]
}): ReactNode {
  // parts have no identity but their number
  // oxlint-disable-next-line react/no-array-index-key
  return parts.map((part, i) => <Part key={i} part={part} all={all} />)
}

function Part({ part, all }: { readonly part: MarkdownInline; readonly all: readonly Stretch[] }) {
  switch (part.type) {
    case 'break':
      return <br />
    case 'text':
      return <Stretches all={all} from={part.at} to={part.at + part.text.length} />
    case 'code':
      return (
        <code>
          <Stretches all={all} from={part.at} to={part.at + part.text.length} />
        </code>
      )
    case 'link':
      return <Anchor link={part} label={<Parts parts={part.children} all={all} />} />
    default: {
      const Tag = part.type
      return (
        <Tag>
          <Parts parts={part.children} all={all} />
        </Tag>
      )
    }
  }
}

/** The text as `visible` shows it, line by line, with the places of its characters. */
function stretchesOf(text: string): readonly Stretch[] {
  const all: Stretch[] = []
  let from = 0
  for (const line of text.split('\n')) {
    for (const piece of visiblePieces(line)) {
      const length = piece.code === undefined ? piece.text.length : piece.code > 0xff_ff ? 2 : 1
      all.push({ ...piece, from, to: from + length })
      from += length
    }
    from += 1
  }
  return all
}

function Stretches({
  all,
  from,
  to,
}: {
  readonly all: readonly Stretch[]
  readonly from: number
  readonly to: number
}) {
  return all
    .filter((each) => each.to > from && each.from < to)
    .map((each) =>
      each.code === undefined ? (
        each.text.slice(Math.max(0, from - each.from), to - each.from)
      ) : (
        <Escape key={each.from} code={each.code} text={each.text} />
      ),
    )
}

const textIn = (parts: readonly MarkdownInline[]): string =>
  parts.map((part) => ('text' in part ? part.text : 'children' in part ? textIn(part.children) : ' ')).join('')

/** A link with its address beside it, unless its text is its address. */
function Anchor({ link, label }: { readonly link: MarkdownLink; readonly label: ReactNode }) {
  const { address, opens, isPicture, children } = link
  const text = textIn(children)
  const isItself = !isPicture && (text === address || `${text}/` === address || `mailto:${text}` === address)
  return (
    <>
      {isPicture && <span className="muted">Picture: </span>}
      {opens ? (
        <a href={address} target="_blank" rel="noopener noreferrer nofollow">
          {text === '' ? <VisibleText>{address}</VisibleText> : label}
        </a>
      ) : (
        label
      )}
      {!isItself && text !== '' && (
        <span className="muted">
          {' ('}
          <VisibleText>{address}</VisibleText>
          {')'}
        </span>
      )}
    </>
  )
}
