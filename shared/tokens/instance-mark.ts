import type { InstanceRecord } from '../model/instance.ts'
import { type Token, type TokenInstance, tokenExpirySecond } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import { type Change, replaceItem } from '../storage/changes.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'

type Marked = Readonly<Pick<Token, 'instance'>>

/** Returns the key of the record of an instance. */
export const instanceKey = ({ mount, account, id }: TokenInstance): Key<'instance'> =>
  key('instance', mount, `${account}.${id}`)

/** Returns the keys that a check of a token reads because the token ends with an instance: one or none. */
export const instanceKeysOf = ({ instance }: Marked): Key<'instance'>[] =>
  instance ? [instanceKey(instance)] : []

/** Reports whether the instance of a token has ended. A token whose record is gone is dead too. */
export const hasEndedWithInstance = (token: Marked, record: Item<'instance'> | undefined): boolean =>
  token.instance !== undefined && (!record || record.data.endedAt !== undefined)

/** Reads whether the instance of a token has ended. Reads nothing for a token without an instance. */
export async function isInstanceOfTokenGone(
  token: Marked,
  { store }: Pick<Ports, 'store'>,
): Promise<boolean> {
  if (!token.instance) return false
  const [record] = await store.read([instanceKey(token.instance)])
  return hasEndedWithInstance(token, record)
}

/**
 * Returns the changes that keep the record of an instance as long as a token without a parent, which may live longer
 * than before. Children do not outlive such a token. A record that is gone is not made again, because its tokens are
 * dead.
 */
export async function extendRecord(
  token: Readonly<Token>,
  { store }: Pick<Ports, 'store'>,
): Promise<Change[]> {
  if (!token.instance || token.parent !== undefined) return []
  const [record] = await store.read([instanceKey(token.instance)])
  return record ? keepRecord(record, record, record.data, token) : []
}

/**
 * Seconds that a record outlives its longest token. Logins and renewals of one instance at the same time would
 * otherwise all write the record and conflict.
 */
const SLACK_SECONDS = 60

/** Returns the change that keeps a record as long as a token, if the record ends earlier. */
export function keepRecord(
  place: Key<'instance'>,
  record: Item<'instance'> | undefined,
  data: InstanceRecord,
  token: Readonly<Token>,
): Change[] {
  const expires = tokenExpirySecond(token) ?? 0
  if (record?.expires !== undefined && record.expires >= expires) return []
  return [replaceItem(place, record, data, { expires: expires + SLACK_SECONDS })]
}
