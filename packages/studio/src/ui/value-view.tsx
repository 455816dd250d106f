/** A value that somebody gave: a text as a text, of a model with its Markdown; anything else as a tree of JSON. */
import type { Json } from '../data/json.ts'
import { JsonView } from './json-view.tsx'
import { TextBlock } from './text-block.tsx'

/** `depth`: down to which level a tree is open at first. The others: as of `TextBlock`. */
export function ValueView(props: {
  readonly value: Json
  readonly depth?: number
  readonly markdown?: 2 | 3 | 4
  readonly isBrief?: boolean
  readonly onWhole?: () => void
}) {
  const { value, depth = 2, ...form } = props
  return typeof value === 'string' ? <TextBlock text={value} {...form} /> : <JsonView value={value} depth={depth} />
}
