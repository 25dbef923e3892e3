import { tokenHashOf } from '../../../shared/model/token.ts'
import { putItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { SetMember } from './member.ts'

export const OPERATION_TOKEN = 'hvs.operation-token-of-the-test'

/** Stores `OPERATION_TOKEN` in a cluster, as a ceremony with recovery shares would. */
export async function storeOperationToken({ ports, record }: SetMember): Promise<void> {
  const now = await record()
  const made = {
    hash: tokenHashOf(OPERATION_TOKEN),
    set: now.set ?? '',
    epoch: now.epoch ?? '',
    madeAt: ports.clock.now(),
  }
  const as = { record: now, readAt: ports.clock.now() }
  await ports.store.commit([putItem(key('operation-token'), made)], as)
}

/** Makes a batch token for some operations on secondaries, as operators do before a disaster. */
export async function operatorToken(primary: SetMember, operations: readonly string[]): Promise<string> {
  const paths = operations.map(
    name => `path "sys/replication/dr/secondary/${name}" { capabilities = ["update"] }`,
  )
  await primary.ok('POST', '/sys/policies/acl/operator', { policy: paths.join('\n') })
  const asked = { type: 'batch', policies: ['operator'], no_parent: true }
  return (await primary.ok('POST', '/auth/token/create', asked)).body.auth.client_token
}
