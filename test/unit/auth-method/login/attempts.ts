import type { Anew, MountCall, Outcome } from '../../../../shared/api/call.ts'
import type { loginFields } from '../../../../shared/auth-method/login/fields.ts'
import type { Ports } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount, NOW } from '../../tokens/support.ts'

type LoginCall = MountCall<typeof loginFields>

/** What a test lets a login meet. */
export interface Surroundings {
  items: readonly Item[]
  given?: Record<string, unknown>
  /** ports of the provider */
  provider: Record<string, unknown>
}

/**
 * One request with its attempts, as dispatch makes them: answers of the provider are kept over all of them, items only
 * for one. Items in memory; `asked` and `read` say what was asked and read so far.
 */
export function attemptsAt({ items, given = {}, provider }: Surroundings) {
  const memory = memoryStore(items)
  const read: string[] = []
  const drawn = { uuids: 0, bytes: 0 }
  const kept = new Map<string, Promise<unknown>>()
  const store = {
    ...memory.as('login'),
    read: async (keys: readonly Item[]) => {
      read.push(...keys.map(({ kind, sk }) => `${kind} ${sk}`))
      return memory.store.read(keys)
    },
  }
  const ports = {
    store,
    cipher: plainCipher,
    keyHints: new Map<string, string>(),
    memory: {},
    clock: { now: () => NOW, sleep: async () => undefined },
    entropy: {
      uuid: () => `uuid-${++drawn.uuids}`,
      bytes: (length: number) => Buffer.alloc(length, ++drawn.bytes),
    },
    deployment: { legacySignatures: false, region: 'eu-west-1', assumableRoles: [] },
    ...provider,
  }
  /** The next attempt. */
  const attempt = (): LoginCall => {
    const before = kept.size
    return callWith<typeof loginFields>({
      now: ports.clock.now(),
      mount: mount({ maxLeaseTtl: 1000 }),
      cluster: { record: {}, readAt: NOW },
      given,
      fetched: fetchedItems(store as unknown as Ports['store']),
      ports,
      once: (name: string, work: () => Promise<unknown>) => {
        const answer = kept.get(name) ?? work()
        kept.set(name, answer)
        return answer
      },
      asked: () => kept.size > before,
    })
  }
  return { attempt, stored: memory.stored, commits: memory.commits, read, drawn }
}

/** Attempts until there is an outcome. */
export async function outcomeOf(login: () => Promise<Outcome | Anew>): Promise<Outcome> {
  for (let tries = 0; tries < 5; tries++) {
    const result = await login()
    if (!('anew' in result)) return result
  }
  throw new Error('the login never comes to an end')
}

/** The keys that an outcome writes, by kind. */
export const writtenBy = ({ changes = [] }: Outcome): string[] =>
  changes.map(change => change.key.kind).sort()

/** The entity of a caller who has logged in before. */
export const aliasItem = (name: string, metadata: Record<string, string>): Item<'alias'> => ({
  ...key('alias', 'auth_cloud_1', name),
  rev: 'r-alias',
  data: {
    entityId: 'entity-1',
    aliasId: 'alias-1',
    mount: 'auth_cloud_1',
    name,
    metadata,
    disabled: false,
    policies: [],
    entityName: 'entity_1',
    entityMetadata: {},
    createdAt: 0,
    updatedAt: 0,
  },
})
