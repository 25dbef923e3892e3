import type { OperationToken } from '../model/ceremony.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import { tokenHashOf } from '../model/token.ts'
import { type Change, putItem, removeItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { type Secret, secretsEqual } from '../values/secret.ts'

type Life = Pick<ClusterRecord, 'set' | 'epoch'>

/** Stores the hash of a generated operation token, replacing an earlier one. */
export const storeOperationToken = (text: Secret, { set = '', epoch = '' }: Life, now: number): Change =>
  putItem(key('operation-token'), { hash: tokenHashOf(text.reveal()), set, epoch, madeAt: now })

/** Deletes the generated DR operation token of this secondary. */
export const revokeOperationToken = (): Change => removeItem(key('operation-token'))

/**
 * Reports whether a text is the generated token. A token created before a promotion of this cluster, or in another set, is invalid even
 * if it still exists, because a share may have been submitted while the role changed.
 */
export const matchesOperationToken = (text: string, stored: OperationToken, life: Life): boolean =>
  isCurrentOperationToken(stored, life) && secretsEqual(stored.hash, tokenHashOf(text))

/** Reports whether the generated token belongs to the cluster's current set and epoch. */
export const isCurrentOperationToken = (stored: OperationToken, { set = '', epoch = '' }: Life): boolean =>
  stored.set === set && stored.epoch === epoch
