/** Exactly what will run, as text: canonical JSON with everything visible, and its digest. */
import { useEffect, useState } from 'react'
import type { Json } from '../../data/json.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { sortedJson } from '../../ui/json-text.ts'
import { VisibleText } from '../../ui/visible-text.tsx'

/** The canonical text, everything visible, and whether it is what the request holds for. */
export function ExactBytes({ value, hash }: { readonly value: Json; readonly hash?: string }) {
  const text = sortedJson(value)
  const found = useDigest(text)
  return (
    <div className="stack" style={{ gap: 4 }}>
      <div className="bytes mono" role="region" aria-label="Exactly the bytes that will run" tabIndex={0}>
        <VisibleText json>{text}</VisibleText>
      </div>
      <div className="row hash">
        <span className="mono grow">
          {found === undefined ? '' : `SHA-256 ${found.slice(0, 16)}…`}
          {hash !== undefined &&
            found !== undefined &&
            (hash === found ? ', as requested' : ', not what was requested')}
        </span>
        <CopyButton text={text} what="the arguments" />
      </div>
    </div>
  )
}

/** SHA-256 of a text; undefined until it is known, or where the browser has none (no secure address). */
function useDigest(text: string): string | undefined {
  const [digest, setDigest] = useState<string>()
  useEffect(() => {
    let wanted = true
    const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto }
    subtle?.digest('SHA-256', new TextEncoder().encode(text)).then(
      (bytes) =>
        wanted && setDigest([...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')),
      () => setDigest(undefined),
    )
    return () => void (wanted = false)
  }, [text])
  return digest
}
