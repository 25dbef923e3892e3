import type { Token, TokenInstance } from '../model/token.ts'
import type { Ports } from '../ports.ts'
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
