/** One run. */
import { VisibleText } from '../../ui/visible-text.tsx'

export function RunPage({ run, tab }: { readonly run: string; readonly tab: string | undefined }) {
  return (
    <div className="page" data-tab={tab}>
      <header>
        <h1>
          <VisibleText>{run}</VisibleText>
        </h1>
      </header>
    </div>
  )
}
