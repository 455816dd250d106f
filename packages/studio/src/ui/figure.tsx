/** A number, or what stands for it, with its word; several stand in a row of the class `figures`. */
import type { ReactNode } from 'react'

export function Figure({ word, value }: { readonly word: string; readonly value: ReactNode }) {
  return (
    <div>
      <span className="muted">{word}</span>
      <b>{value}</b>
    </div>
  )
}
