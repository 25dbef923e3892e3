import { defaultTidySettings, type TidyList, tidyTimes } from '../../../shared/auth-method/tidy/settings.ts'
import { type Change, createItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'

/** The path of each list endpoint below its mount, and the kind of its items. */
export const lists = [
  { list: 'identity-accesslist', kind: 'access' },
  { list: 'roletag-denylist', kind: 'deny' },
] as const satisfies readonly { list: TidyList; kind: 'access' | 'deny' }[]

const HOUR = 3600

/** Makes an entry of a login or of a denial that expired some hours ago. */
export function entry(kind: 'access' | 'deny', accessor: string, name: string, hoursAgo: number): Change {
  const expiresAt = Date.now() - hoursAgo * HOUR * 1000
  const times = tidyTimes(expiresAt, defaultTidySettings)
  if (kind === 'deny') return createItem(key('deny', accessor, name), { createdAt: 0, expiresAt }, times)
  const data = {
    role: 'web',
    disallowReauthentication: false,
    pendingTime: '2026-01-01T00:00:00Z',
    createdAt: 0,
    updatedAt: 0,
    expiresAt,
  }
  return createItem(key('access', accessor, name), data, times)
}
