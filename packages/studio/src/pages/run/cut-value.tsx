/** A value of which only the beginning is in the live state: the rest is read when it is asked for. */
import { useState } from 'react'
import type { Json } from '../../data/json.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/states.tsx'
import { ValueView } from '../../ui/value-view.tsx'
import { errorText } from './control-bar.tsx'

export function CutValue(props: {
  readonly value: Json
  readonly isCut: boolean
  readonly load: () => Promise<Json>
  readonly markdown?: 2 | 3 | 4
  readonly isBrief?: boolean
}) {
  const { value, isCut, load, ...form } = props
  const [whole, setWhole] = useState<{ readonly value: Json }>()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const open = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      setWhole({ value: await load() })
    } catch (error) {
      setProblem(errorText(error))
    }
    setBusy(false)
  }
  return (
    <>
      <ValueView
        value={whole === undefined ? value : whole.value}
        {...form}
        {...(isCut && whole === undefined && !busy ? { onWhole: () => void open() } : {})}
      />
      {isCut && whole === undefined && typeof value !== 'string' && (
        <div>
          <Button small busy={busy} onClick={() => void open()}>
            Show all
          </Button>
        </div>
      )}
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
    </>
  )
}
