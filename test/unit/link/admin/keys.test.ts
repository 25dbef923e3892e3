import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  decryptOwnLinkKey,
  decryptPendingLinkKey,
  encryptOwnLinkKey,
  makeOwnLinkKey,
  makePendingLinkKey,
} from '../../../../shared/link/admin/keys.ts'
import { linkPublicKeysOf, parseLinkKeyPairs, parseLinkPublicKeys } from '../../../../shared/link/pair.ts'
import { type Key, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'

const entropy = { bytes: randomBytes, uuid: randomUUID }
const placed = (place: Key, field: string) => `${place.pk}/${place.sk}/${field}/`
/** A cipher that adds the item's place to the text, and decrypts a text only at the same place. */
const cipher = {
  encrypt: async (place: Key, field: string, text: string) => (placed(place, field) + text) as never,
  decrypt: async (place: Key, field: string, text: string) => {
    if (!text.startsWith(placed(place, field))) throw new Error('sealed for another place')
    return new Secret(text.slice(placed(place, field).length))
  },
}

test('a primary’s own key is encrypted for the cluster record', async () => {
  const sealed = await makeOwnLinkKey({ cipher, entropy })
  expect(linkPublicKeysOf(await decryptOwnLinkKey(sealed, cipher)).signing).toHaveLength(32)
})

test('a secondary’s pending keys are encrypted for their own item, and replace older ones', async () => {
  const { publicKey, changes } = await makePendingLinkKey(5, { cipher, entropy })
  const [change] = changes as unknown as { put: Key; data: { pair: never }; expected: string }[]
  expect(change).toMatchObject({
    kind: 'put',
    key: key('pending-key'),
    expected: 'any',
    data: { createdAt: 5 },
  })
  const text = await decryptPendingLinkKey(change?.data.pair ?? ('' as never), cipher)
  expect(linkPublicKeysOf(parseLinkKeyPairs(text))).toEqual(parseLinkPublicKeys(publicKey))
  // activation stores the encrypted keys in the cluster record
  const own = await decryptOwnLinkKey(await encryptOwnLinkKey(text, cipher), cipher)
  expect(linkPublicKeysOf(own)).toEqual(parseLinkPublicKeys(publicKey))
})
