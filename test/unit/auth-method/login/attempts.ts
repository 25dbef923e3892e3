import type { CallOutcome, MountCall, RequestPhases } from '../../../../shared/api/call.ts'
import type { loginFields } from '../../../../shared/auth-method/login/fields.ts'
import { runPhases } from '../../../../shared/http/dispatch.ts'
import type { Ports } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount, NOW } from '../../tokens/support.ts'

type LoginCall = MountCall<typeof loginFields>

/** The environment of a login test. */
export interface Surroundings {
  items: readonly Item[]
  parameters?: Record<string, unknown>
  /** AWS ports */
  provider: Record<string, unknown>
}

/**
 * Makes one login request with its attempts, as in the dispatcher: AWS answers are kept for the whole
 * request, items for one attempt. Items are in memory. `asked` and `read` list the calls and reads so far.
 */
export function attemptsAt({ items, parameters = {}, provider }: Surroundings) {
  const memory = memoryStore(items)
  const read: string[] = []
  const drawn = { uuids: 0, bytes: 0 }
  const answers = new Map<string, unknown>()
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
  /** Runs the next attempt of the login. */
  const attempt = <I, G, A>(phases: RequestPhases<LoginCall, I, G, A>, prepared: unknown) => {
    const call = callWith<typeof loginFields>({
      now: ports.clock.now(),
      mount: mount({ maxLeaseTtl: 1000 }),
      cluster: { record: {}, readAt: NOW },
      parameters,
      fetched: fetchedItems(store as unknown as Ports['store']),
      ports,
      prepared,
    })
    return runPhases(phases, call, answers)
  }
  return { attempt, stored: memory.stored, commits: memory.commits, read, drawn }
}

/** Runs attempts until the login has an outcome. */
export async function outcomeOf(login: () => ReturnType<typeof runPhases>): Promise<CallOutcome> {
  for (let tries = 0; tries < 5; tries++) {
    const step = await login()
    if (step.kind === 'decided') return step.outcome
  }
  throw new Error('the login never comes to an end')
}

/** Returns the keys that an outcome writes, by kind. */
export const writtenBy = ({ changes = [] }: CallOutcome): string[] =>
  changes.map(change => change.key.kind).sort()

/** Builds the alias of a caller who has logged in before. */
export const aliasItem = (name: string, metadata: Record<string, string>): Item<'alias'> =>
  item(
    key('alias', 'auth_cloud_1', name),
    {
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
    'r-alias',
  )
