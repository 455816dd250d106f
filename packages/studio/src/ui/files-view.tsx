/** Files of an entry: pictures as pictures, others by what they are. Nothing is loaded from elsewhere. */
import type { EntryFile } from '@reeve/server/wire'
import { VisibleText } from './visible-text.tsx'

export function FilesView({ files = [] }: { readonly files?: readonly EntryFile[] | undefined }) {
  return files.map(({ label, picture }, i) => (
    <figure key={`${label}.${i}`} className="file-view">
      {picture !== undefined && <img src={`data:${picture.mediaType};base64,${picture.data}`} alt={label} />}
      <figcaption className="muted">
        <VisibleText>{label}</VisibleText>
      </figcaption>
    </figure>
  ))
}
