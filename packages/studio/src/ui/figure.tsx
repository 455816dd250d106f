/** A number, or what stands for it, with its label; several stand in a row of the class `figures`. */
import type { ReactNode } from 'react'

export function Figure({ label, value }: { readonly label: string; readonly value: ReactNode }) {
  return (
    <div>
      <span className="muted">{label}</span>
      <b>{value}</b>
    </div>
  )
}
