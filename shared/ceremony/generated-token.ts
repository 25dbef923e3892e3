import type { OperationToken } from '../model/ceremony.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import { hashOf } from '../model/token.ts'
import { type Change, put, remove } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { type Secret, sameSecret } from '../values/secret.ts'

type Life = Pick<ClusterRecord, 'set' | 'epoch'>

/** Stores what is needed to know a token again, in place of an earlier one. @param now epoch milliseconds */
export const storeOperationToken = (text: Secret, { set = '', epoch = '' }: Life, now: number): Change =>
  put(key('operation-token'), { hash: hashOf(text.reveal()), set, epoch, madeAt: now })

/** Voids the token that was generated for operations of this DR secondary, if there is one. */
export const revokeOperationToken = (): Change => remove(key('operation-token'))

/**
 * Whether a text is the token that was generated. One that was made before a promotion of this cluster, or in another
 * set, is void whether it was deleted or not: a share may have been given while the role changed.
 */
export const matchesGenerated = (text: string, stored: OperationToken, life: Life): boolean =>
  isCurrentToken(stored, life) && sameSecret(stored.hash, hashOf(text))

/** Whether a token that was generated still counts. */
export const isCurrentToken = (stored: OperationToken, { set = '', epoch = '' }: Life): boolean =>
  stored.set === set && stored.epoch === epoch
