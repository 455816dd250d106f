/** A text that filters when it is finished: by Enter, or when the field is left. */
import { useState } from 'react'
import { TextInput } from './field.tsx'

export function FilterText(props: {
  readonly label: string
  readonly value: string
  readonly onSet: (value: string) => void
}) {
  const { label, value, onSet } = props
  const [typed, setTyped] = useState<string>()
  const finish = (): void => {
    if (typed !== undefined && typed.trim() !== value) onSet(typed.trim())
    setTyped(undefined)
  }
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      value={typed ?? value}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={finish}
      onKeyDown={({ key }) => key === 'Enter' && finish()}
    />
  )
}
