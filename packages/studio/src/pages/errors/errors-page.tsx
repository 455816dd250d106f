/** The errors: every code, and the section of one. */
import { useErrorGuide, type ErrorSection } from '../../data/error-guide.ts'
import { errorPath, Link } from '../../router.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, Loading } from '../../ui/states.tsx'
import { GuideText } from '../../ui/guide-text.tsx'

export function ErrorsPage({ code }: { readonly code: string | undefined }) {
  const guide = useErrorGuide()
  const section = code === undefined ? undefined : guide?.get(code)
  return (
    <div className="page">
      <header>
        <h1>{section === undefined ? 'Errors' : section.code}</h1>
        {code !== undefined && <Link to={errorPath()}>All errors</Link>}
      </header>
      {guide === undefined ? (
        <Loading what="the page of errors" />
      ) : section !== undefined ? (
        <Section section={section} />
      ) : code !== undefined ? (
        <Empty icon="search" title="No error has this code.">
          <Link to={errorPath()}>See all errors</Link>
        </Empty>
      ) : (
        <Panel title={`${guide.size} codes`}>
          <dl className="facts">
            {[...guide.values()].map((each) => (
              <div key={each.code} style={{ display: 'contents' }}>
                <dt>
                  <Link to={errorPath(each.code)}>
                    <code>{each.code}</code>
                  </Link>
                </dt>
                <dd>
                  <GuideText text={each.what} />
                </dd>
              </div>
            ))}
          </dl>
        </Panel>
      )}
    </div>
  )
}

function Section({ section }: { readonly section: ErrorSection }) {
  const { what, advice } = section
  return (
    <Panel title="What it means">
      <div className="stack">
        <GuideText text={what} />
        <Facts facts={guideFacts(section)} />
        {advice !== '' && <GuideText text={advice} />}
      </div>
    </Panel>
  )
}

/** Whose fault an error is, and whether to retry. */
export const guideFacts = ({ fault, retry }: ErrorSection): Parameters<typeof Facts>[0]['facts'] => [
  ['Whose fault', <GuideText key="f" text={fault} />],
  ['Retry helps', <GuideText key="r" text={retry.replace(/^the step\b/, 'Reeve repeats the step by itself')} />],
]
