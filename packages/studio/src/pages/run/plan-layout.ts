/**
 * Plan layout: the tasks of a plan as a layered graph, from left to right.
 *
 * Owns: in which column and row a task stands, the lines between tasks. Does not own: drawing (plan-graph.tsx). Pure.
 * Holds: any list of tasks has a layout, also one with cycles or unknown names.
 */

/** What the layout needs of a task. */
export interface PlannedNode {
  readonly task: string
  readonly dependencies: readonly string[]
  readonly joined?: readonly string[]
}

export interface PlacedTask {
  readonly task: string
  readonly column: number
  readonly row: number
  readonly x: number
  readonly y: number
}

export interface PlanEdge {
  readonly from: string
  readonly to: string
  /** The path of an SVG. */
  readonly path: string
}

export interface PlanLayout {
  readonly nodes: readonly PlacedTask[]
  readonly edges: readonly PlanEdge[]
  readonly width: number
  readonly height: number
}

export const node = { width: 188, height: 58, gapX: 56, gapY: 18 } as const

/** Columns by the longest way from a task without dependencies; rows by the middle of what a task depends on. */
export function planLayout(tasks: readonly PlannedNode[]): PlanLayout {
  const known = new Map(tasks.map((each) => [each.task, each]))
  const before = new Map(
    tasks.map(({ task, dependencies, joined = [] }) => [
      task,
      [...new Set([...dependencies, ...joined])].filter((each) => known.has(each) && each !== task),
    ]),
  )
  const columns = columnsOf(tasks, before)
  const rows = rowsOf(tasks, before, columns)
  const nodes = tasks.map(({ task }) => {
    const [column, row] = [columns.get(task)!, rows.get(task)!]
    return { task, column, row, x: column * (node.width + node.gapX), y: row * (node.height + node.gapY) }
  })
  const placed = new Map(nodes.map((each) => [each.task, each]))
  const edges = [...before].flatMap(([to, froms]) =>
    froms.map((from) => ({ from, to, path: pathOf(placed.get(from)!, placed.get(to)!) })),
  )
  return {
    nodes,
    edges,
    width: Math.max(0, ...nodes.map(({ x }) => x + node.width)),
    height: Math.max(0, ...nodes.map(({ y }) => y + node.height)),
  }
}

type Befores = ReadonlyMap<string, readonly string[]>

function columnsOf(tasks: readonly PlannedNode[], before: Befores): ReadonlyMap<string, number> {
  const columns = new Map(tasks.map(({ task }) => [task, 0]))
  // a task moves right until it stands behind all that it needs; in a cycle that would never end
  for (let round = 0; round < tasks.length; round++) {
    let moved = false
    for (const { task } of tasks) {
      const least = Math.max(0, ...before.get(task)!.map((each) => columns.get(each)! + 1))
      if (least > columns.get(task)! && least < tasks.length) {
        columns.set(task, least)
        moved = true
      }
    }
    if (!moved) break
  }
  return columns
}

function rowsOf(
  tasks: readonly PlannedNode[],
  before: Befores,
  columns: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const layers: string[][] = []
  for (const { task } of tasks) (layers[columns.get(task)!] ??= []).push(task)
  const rows = new Map<string, number>()
  for (const layer of layers) {
    if (layer === undefined) continue
    const wanted = (task: string): number | undefined => {
      const above = before.get(task)!.flatMap((each) => rows.get(each) ?? [])
      return above.length === 0 ? undefined : above.reduce((sum, row) => sum + row, 0) / above.length
    }
    const ranked = layer.map((task, i) => ({ task, at: wanted(task) ?? i, i }))
    ranked.sort((one, other) => one.at - other.at || one.i - other.i)
    let free = 0
    for (const { task, at } of ranked) {
      const row = Math.max(free, Math.floor(at))
      rows.set(task, row)
      free = row + 1
    }
  }
  return rows
}

function pathOf(from: PlacedTask, to: PlacedTask): string {
  const [x1, y1] = [from.x + node.width, from.y + node.height / 2]
  const [x2, y2] = [to.x, to.y + node.height / 2]
  const bend = Math.max(24, Math.abs(x2 - x1) / 2)
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`
}
