/** A conversation, read page by page. */
import type { RemoteRun } from '@reeve/client'
import type { ConversationPage } from '@reeve/server/wire'

const limit = 500

/** The conversation up to now. `known`: what was read of it before; only what is new is read. */
export async function wholeConversation(
  api: RemoteRun,
  activation: string,
  known: ConversationPage | undefined,
  signal: AbortSignal,
): Promise<ConversationPage> {
  for (let whole = known; ;) {
    const page = await api.conversation({ activation, after: whole?.position ?? 0, limit, signal })
    whole = { ...page, ...whole, entries: [...(whole?.entries ?? []), ...page.entries], position: page.position }
    if (page.entries.length < limit) return whole
  }
}
