import type { Ports } from '../../ports.ts'
import { type Change, removeItemIfUnchanged, replaceItem } from '../../storage/changes.ts'
import { listEncryptedKinds, renewableItemKeys } from '../../storage/encrypted-kinds.ts'
import { findEncryptedFields, replaceEncryptedText } from '../../storage/encrypted-paths.ts'
import { type Item, itemKindSpec, key } from '../../storage/kinds.ts'
import type { EncryptedText } from '../../values/secret.ts'
import type { StoredKeyringTermFacts } from './facts.ts'

/** An item with re-encrypted fields. */
interface ReencryptedItem {
  data: Item['data']
  changed: boolean
  /** `unreadable` is the number of fields that no held term can decrypt */
  unreadable: number
}

/** Re-encrypts the fields of an item that the newest term has not encrypted. */
export async function reencryptItem(
  item: Item,
  paths: readonly string[],
  cipher: Pick<Ports['cipher'], 'reencrypt'>,
): Promise<ReencryptedItem> {
  const result: ReencryptedItem = { data: item.data, changed: false, unreadable: 0 }
  for (const { path, field, text } of findEncryptedFields(paths, item.data)) {
    const made = await cipher.reencrypt(item, field, text)
    if (made === 'unreadable') result.unreadable += 1
    if (made === 'unreadable' || made === 'current') continue
    result.data = replaceEncryptedText(result.data, path, made as EncryptedText)
    result.changed = true
  }
  return result
}

const pathsOf = (kind: Item['kind']): string[] =>
  listEncryptedKinds(['reencrypt', 'renew']).find(one => one.kind === kind)?.paths ?? []

/**
 * Re-encrypts this cluster's own keys in any role, and stores the term in the record, in one transaction. The
 * function deletes a key for tokens or for a next link that cannot be decrypted any more; such a key is made again
 * when it is needed.
 * @returns whether the commit succeeded; after a failure the next minute's run tries again
 */
export async function reencryptOwnKeys(
  { store, cipher, log, clock }: Pick<Ports, 'store' | 'cipher' | 'log' | 'clock'>,
  { keyring }: Pick<StoredKeyringTermFacts, 'keyring'>,
): Promise<boolean> {
  const readAt = clock.now()
  const [record, ...others] = await store.read([key('cluster'), ...renewableItemKeys])
  if (record?.data.keyringEdition !== keyring.edition) return false
  cipher.expectKeyring(record.data)
  const own = await reencryptItem(record, pathsOf('cluster'), cipher)
  if (own.unreadable > 0) log.error('this cluster’s own link key cannot be decrypted', { term: keyring.term })
  const changes: Change[] = [
    replaceItem(record, record, { ...(own.data as typeof record.data), ownTerm: keyring.activeTerm }),
  ]
  for (const item of others) {
    if (!item || itemKindSpec(item.kind).table !== 'cluster') continue
    const { data, changed, unreadable } = await reencryptItem(item, pathsOf(item.kind), cipher)
    if (unreadable > 0) changes.push(removeItemIfUnchanged(item))
    else if (changed) changes.push(replaceItem(item, item as never, data))
  }
  return (await store.commit(changes, { record: record.data, readAt })) === 'done'
}
