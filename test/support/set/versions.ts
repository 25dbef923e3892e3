import { vi } from 'vitest'
import type { setMember } from './member.ts'

/**
 * Makes clusters of a version with another format of journal and link. All code is loaded a second time for
 * this version.
 */
export async function versionOf(format: number): Promise<typeof setMember> {
  const source = '../../../shared/link/source.ts'
  vi.resetModules()
  vi.doMock(source, async original => ({ ...(await original<object>()), LINK_FORMAT: format }))
  const loaded = (await import('./member.ts')) as { setMember: typeof setMember }
  vi.doUnmock(source)
  vi.resetModules()
  return loaded.setMember
}
