/** What the pages of versions read: agents, versions that are kept, and the newest runs with theirs; together. */
import { useWatched, type Polled } from '../../data/polled.ts'
import { server } from '../../data/server.ts'
import type { AgentDocument, KeptRevision, VersionUses } from '@reeve/server/wire'

export interface VersionsData {
  readonly agents: readonly AgentDocument[]
  readonly kept: readonly KeptRevision[]
  readonly uses: VersionUses
}

export const useVersions = (): Polled<VersionsData> =>
  useWatched(
    async (signal) => {
      const [agents, kept, uses] = await Promise.all([
        server.agents({ signal }),
        server.versions.all({ signal }),
        server.versions.uses({ signal }),
      ])
      return { agents, kept, uses }
    },
    ['versions', 'runs'],
    'versions',
  )
