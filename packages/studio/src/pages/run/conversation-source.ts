/** What an activation said so far: what is recorded, read on as the run goes on, and the texts that are not in it yet. */
import { useRef, useState } from 'react'
import type { ConversationPage } from '@reeve/server/wire'
import { usePolled } from '../../data/polled.ts'
import { UnreadTexts } from './live-text.ts'
import { useRun } from './run-context.tsx'
import { useLiveTexts } from './stream-text.tsx'
import { wholeConversation } from './whole-conversation.ts'

/** `page`: undefined until it was read once. */
export function useConversation(activation: string) {
  const { api, store, live } = useRun()
  const known = useRef<ConversationPage>(undefined)
  const { data, error, reload } = usePolled<{ readonly page: ConversationPage; readonly readAt: number }>(
    async (signal) => {
      const readAt = store.changes()
      const page = await wholeConversation(api, activation, known.current, signal)
      known.current = page
      return { page, readAt }
    },
    live.head.position,
    activation,
  )
  const [unread] = useState(() => new UnreadTexts())
  const texts = unread.shown(useLiveTexts(activation), store.changes(), data?.readAt ?? 0)
  return { data, error, reload, texts }
}
