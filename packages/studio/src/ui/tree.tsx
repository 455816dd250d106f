/** A tree: arrow keys move, open and close; Enter and Space select. Nodes are open unless they were closed. */
import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { Icon } from './icon.tsx'

export interface TreeNode {
  readonly id: string
  readonly label: ReactNode
  readonly children?: readonly TreeNode[]
}

interface Line {
  readonly node: TreeNode
  readonly level: number
  readonly parent: string | undefined
}

const linesOf = (nodes: readonly TreeNode[], closed: ReadonlySet<string>, level = 1, parent?: string): Line[] =>
  nodes.flatMap((node) => [
    { node, level, parent },
    ...(node.children && !closed.has(node.id) ? linesOf(node.children, closed, level + 1, node.id) : []),
  ])

export function Tree(props: {
  readonly label: string
  readonly nodes: readonly TreeNode[]
  readonly selected?: string
  readonly onSelect?: (id: string) => void
}) {
  const { label, nodes, selected, onSelect } = props
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [focused, setFocused] = useState<string>()
  const root = useRef<HTMLDivElement>(null)
  const lines = linesOf(nodes, closed)
  const entry = lines.find(({ node }) => node.id === (focused ?? selected)) ?? lines[0]
  const toggle = (id: string, close: boolean): void =>
    setClosed((was) => new Set(close ? [...was, id] : [...was].filter((each) => each !== id)))
  const focus = (id: string | undefined): void => {
    if (id === undefined) return
    setFocused(id)
    root.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus()
  }
  const press = (event: KeyboardEvent, { node, parent }: Line, at: number): void => {
    const isClosed = closed.has(node.id)
    const parted = (node.children?.length ?? 0) > 0
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(lines[at + 1]?.node.id),
      ArrowUp: () => focus(lines[at - 1]?.node.id),
      Home: () => focus(lines[0]?.node.id),
      End: () => focus(lines.at(-1)?.node.id),
      ArrowRight: () =>
        parted && isClosed ? toggle(node.id, false) : parted ? focus(node.children![0]!.id) : undefined,
      ArrowLeft: () => (parted && !isClosed ? toggle(node.id, true) : focus(parent)),
      Enter: () => onSelect?.(node.id),
      ' ': () => onSelect?.(node.id),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  return (
    <div className="tree" role="tree" aria-label={label} ref={root}>
      {lines.map((line, at) => {
        const { node, level } = line
        const parted = (node.children?.length ?? 0) > 0
        return (
          <div
            key={node.id}
            role="treeitem"
            data-node={node.id}
            aria-level={level}
            aria-expanded={parted ? !closed.has(node.id) : undefined}
            aria-selected={node.id === selected}
            tabIndex={node.id === entry?.node.id ? 0 : -1}
            style={{ paddingLeft: (level - 1) * 16 + 4 }}
            onKeyDown={(event) => press(event, line, at)}
            onFocus={() => setFocused(node.id)}
            onClick={() => onSelect?.(node.id)}
          >
            {/* The keyboard opens and closes with the arrow keys. */}
            {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
            <span
              className="twist"
              aria-hidden="true"
              onClick={(event) => {
                event.stopPropagation()
                toggle(node.id, !closed.has(node.id))
              }}
            >
              {parted && <Icon name="right" />}
            </span>
            {node.label}
          </div>
        )
      })}
    </div>
  )
}
