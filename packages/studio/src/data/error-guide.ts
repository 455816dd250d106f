/**
 * The error guide: what the page of errors says of a code. The page is the one of the documentation, and is loaded when a
 * first failure is shown.
 *
 * Owns: reading its sections. Does not own: the page (docs/reference/errors.md).
 */
import { useEffect, useState } from 'react'

export interface ErrorSection {
  readonly code: string
  /** What is wrong. Markdown, as all of it. */
  readonly what: string
  /** Whose fault it is. */
  readonly fault: string
  /** Whether it helps to do the same again. */
  readonly retry: string
  /** What to do besides. Empty: nothing. */
  readonly advice: string
}

const section = /^## (\S+)\n+(.*?) \*\*Fault:\*\* (.*?)\. \*\*Retry:\*\* (.*?)\.(?: (.*))?$/gms

/** The sections of the page, in their order. Pure. */
export const errorSections = (page: string): readonly ErrorSection[] =>
  page.split(/(?=^## )/m).flatMap((part) =>
    [...part.trim().matchAll(section)].map(([, code = '', what = '', fault = '', retry = '', advice = '']) => ({
      code,
      what,
      fault,
      retry,
      advice,
    })),
  )

let sections: ReadonlyMap<string, ErrorSection> | undefined

/** The sections by their codes, once they are loaded. */
export function useErrorGuide(): ReadonlyMap<string, ErrorSection> | undefined {
  const [loaded, setLoaded] = useState(() => sections)
  useEffect(() => {
    if (sections !== undefined) return
    import('../../../../docs/reference/errors.md?raw').then(
      ({ default: page }) => {
        sections = new Map(errorSections(page).map((each) => [each.code, each]))
        setLoaded(sections)
      },
      // a failure is shown without it
      () => {},
    )
  }, [])
  return loaded
}
