import { inject } from 'vitest'
import type { CallOptions, Reply } from './api.ts'
import { type ServiceOptions, startService } from './service.ts'
import { tapKind } from './tap-kind.ts'

/** Starts a service for one test file that changes a setting of the whole service. */
export async function ownHost(options: ServiceOptions = {}) {
  const service = await startService(inject('ground'), { tap: tapKind(), ...options })
  const api = (method: string, path: string, body?: unknown, more: CallOptions = {}): Promise<Reply> =>
    service.call(method, path, body, { token: service.root_token, ...more })
  return { ...service, api }
}
