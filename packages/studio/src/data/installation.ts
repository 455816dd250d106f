/** The server's routes of sessions, trust, versions and the system. Owns: their paths. */
import type {
  AgentDocument,
  KeptRevision,
  Page,
  Revision,
  RunRow,
  SessionRow,
  StartBody,
  StartedRun,
  SystemDocument,
  TrustSetting,
  TrustView,
  Incident,
  VersionUses,
} from '@reeve/server/wire'
import { query, request } from './request.ts'

const id = encodeURIComponent

export const readSessions = (user: string, signal: AbortSignal): Promise<Page<SessionRow>> =>
  request(`/sessions${query({ user })}`, { signal })
export const readSession = (session: string, user: string | undefined, signal: AbortSignal): Promise<Page<RunRow>> =>
  request(`/sessions/${id(session)}${query({ user })}`, { signal })

export const readAllTrust = (signal: AbortSignal): Promise<readonly TrustView[]> => request('/trust', { signal })
export const readTrust = (name: string, signal: AbortSignal): Promise<TrustView> =>
  request(`/trust/${id(name)}`, { signal })
export const setTrust = ({ trust, ...body }: Omit<TrustSetting, 'by'>): Promise<TrustView> =>
  request(`/trust/${id(trust)}/level`, { method: 'POST', body })
export const noteIncident = ({ trust, ...body }: Omit<Incident, 'by'>): Promise<TrustView> =>
  request(`/trust/${id(trust)}/incidents`, { method: 'POST', body })

export const readAgents = (signal: AbortSignal): Promise<readonly AgentDocument[]> => request('/agents', { signal })
export const readVersions = (signal: AbortSignal): Promise<readonly KeptRevision[]> => request('/versions', { signal })
export const readVersionUses = (signal: AbortSignal): Promise<VersionUses> => request('/versions/uses', { signal })
/** A text names a version that is kept. */
export const publishVersion = (agent: string, given: Revision | string): Promise<unknown> =>
  request(`/versions/${id(agent)}`, {
    method: 'POST',
    body: { status: 'published', ...(typeof given === 'string' ? { version: given } : { revision: given }) },
  })
export const keepDraft = (agent: string, revision: Revision): Promise<unknown> =>
  request(`/versions/${id(agent)}`, { method: 'POST', body: { status: 'draft', revision } })
export const startRun = (body: StartBody): Promise<StartedRun> => request('/runs', { method: 'POST', body })

export const readSystem = (signal: AbortSignal): Promise<SystemDocument> => request('/system', { signal })
