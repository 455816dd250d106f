/** A text of the documentation: its Markdown, with the words alone until the grammar is there. */
import { Markdown, useMarkdown } from './markdown.tsx'
import { VisibleText } from './visible-text.tsx'

export function GuideText({ text }: { readonly text: string }) {
  const blocks = useMarkdown(text)
  return blocks === undefined ? <VisibleText lines>{text}</VisibleText> : <Markdown blocks={blocks} level={4} />
}
