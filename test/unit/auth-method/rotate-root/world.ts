import { ApiError } from '../../../../shared/api/errors.ts'
import { defaultClientSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { rotateRootCredentials } from '../../../../shared/auth-method/rotate-root/rotate.ts'
import { createFirstHead } from '../../../../shared/journal/head.ts'
import type { AwsClientConfig } from '../../../../shared/model/config.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import type { RotationGuard } from '../../../../shared/model/rotation.ts'
import type { ItemStore, ProviderSettings } from '../../../../shared/ports.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { callWith } from '../../../support/requests/call.ts'
import { encrypted, item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const place = key('client-config', accessor)
const guard = key('rotation', accessor)
export const configured: AwsClientConfig = {
  ...defaultClientSettings,
  accessKey: 'OLD',
  secretKey: encrypted('client-config', 'client', 'secretKey', 'old'),
}
export const refused = () =>
  new ApiError('provider_failed', 'IAM refused: LimitExceeded', { reason: { why: 'provider-refused' } })
export const START = 1_000_000

/** The fault of a commit. */
type Fault = 'conflict' | 'fails' | 'done, but seems to fail'

function disturbed(store: ItemStore, fault: World['fault'] = () => undefined): ItemStore {
  return {
    ...store,
    commit: async (changes, as) => {
      const found = fault(changes)
      if (found === 'conflict') return found
      const verdict = found === 'fails' ? 'conflict' : await store.commit(changes, as)
      if (found) throw new Error('the table failed')
      return verdict
    },
  }
}

type Operation = 'list' | 'create' | 'create, but it was made' | 'delete'

export interface World {
  config?: AwsClientConfig | undefined
  guard?: RotationGuard
  /** other access keys of the user, by creation time */
  others?: Record<string, number>
  user?: string | undefined
  /** failing IAM operations */
  iam?: Partial<Record<Operation, Error>> & { works?: false }
  fault?: (changes: readonly Change[]) => Fault | undefined
  /** true if a connected secondary never acknowledges */
  behind?: true
}

const BEHIND = {
  id: 'west',
  createdAt: 0,
  epoch: 'e',
  heartbeat: { at: START, epoch: '', seq: 0 },
} as Secondary

/** Runs one rotation in a world with a mount, an IAM user and a clock. */
export async function rotate(world: World) {
  const config = 'config' in world ? world.config : configured
  const items: Item[] = [
    item(key('cluster'), { mode: 'primary', keyring: 'k', keyringEdition: 1, epoch: 'e' } as never),
    ...(config ? [item(place, config)] : []),
    ...(world.guard ? [item(guard, world.guard)] : []),
    ...(world.behind ? [item(key('secondary', 'west'), BEHIND)] : []),
  ]
  const { as, stored } = memoryStore(items)
  const keys = new Map(Object.entries({ OLD: 0, ...world.others }))
  let now = START
  const failing = (name: Operation) => {
    const error = world.iam?.[name]
    if (error) throw error
  }
  const call = callWith({
    mount: mount(),
    subjectKey: place,
    subject: stored.at(place),
    ports: {
      store: disturbed(as('rotate-root'), world.fault),
      journalView: { readStatus: async () => (world.behind ? { head: createFirstHead('000001.a', 1) } : {}) },
      log: { warn: () => undefined },
      cipher: { ...plainCipher, expectKeyring: () => undefined },
      clock: {
        now: () => now,
        sleep: async (ms: number) => {
          now += ms
        },
      },
      accessKeys: {
        owner: async () => ('user' in world ? {} : { userName: 'server' }),
        list: async () => {
          failing('list')
          return [...keys].map(([accessKey, createdAt]) => ({ accessKey, createdAt }))
        },
        create: async () => {
          failing('create')
          keys.set('NEW', now)
          failing('create, but it was made')
          return { accessKey: 'NEW', secretKey: new Secret('new') }
        },
        delete: async (_: ProviderSettings, __: string, accessKey: string) => {
          failing('delete')
          keys.delete(accessKey)
        },
        works: async () => world.iam?.works !== false,
      },
    },
  })
  const outcome = await rotateRootCredentials(call).then(
    ({ answer }) => answer as unknown as { data: Record<string, unknown>; warnings?: string[] },
    (error: Error) => error,
  )
  return {
    outcome,
    keys: [...keys.keys()],
    config: stored.at(place)?.data,
    guard: stored.at(guard)?.data,
  }
}
