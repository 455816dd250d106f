/** Who is here, for all parts of the page. */
import { createContext, useContext } from 'react'
import type { Me, Role } from '@reeve/server/wire'

export const MeContext = createContext<Me | undefined>(undefined)

/** Whether they have a role; an admin has all. */
export function useRole(role: Role): boolean {
  const roles = useContext(MeContext)?.roles ?? []
  return roles.includes(role) || roles.includes('admin')
}

export const useMe = (): Me | undefined => useContext(MeContext)
