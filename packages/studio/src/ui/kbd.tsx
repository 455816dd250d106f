/** A key. For eyes only: controls say their shortcut by `aria-keyshortcuts`. */
export function Kbd({ children }: { readonly children: string }) {
  return (
    <span className="kbd" aria-hidden="true">
      {children}
    </span>
  )
}
