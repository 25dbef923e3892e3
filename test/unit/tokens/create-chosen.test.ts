import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../shared/api/call.ts'
import {
  accessorOfHash,
  accessorOfTokenText,
  storedTokenHashOf,
  tokenHashOf,
} from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { createOrphanToken, createToken } from '../../../shared/tokens/create.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { authIn, callWith } from '../../support/requests/call.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, parentOf, rootToken, token } from './support.ts'

/** Builds a create request of a root caller. */
function creating(given: object, items: Item[] = []) {
  const caller: Caller = {
    ...parentOf(rootToken),
    text: new Secret('hvs.root'),
    rights: { root: true, rules: [] },
    identityPolicies: [],
  }
  const ports = {
    store: memoryStore(items).store,
    cipher: clearCipher,
    entropy: { bytes: (length: number) => Buffer.alloc(length, 7) },
  }
  const request = { path: 'auth/token/create' }
  return callWith({ parameters: { policies: ['dev'], ...given }, caller, ports, request })
}

const chosen = await accessorOfTokenText('mine', clearCipher)

describe('the text of a new token', () => {
  test("a token's text is random, and only its hash is stored", async () => {
    const { answer, changes } = await createToken(creating({}))
    const { client_token: text, accessor } = authIn({ answer })
    expect(text).toMatch(/^hvs\.[0-9A-Za-z]{29}$/)
    expect(changes?.[0]).toMatchObject({
      kind: 'put',
      key: key('token', accessor),
      data: { hash: tokenHashOf(text) },
      expected: 'absent',
    })
    expect(JSON.stringify(changes)).not.toContain(text)
  })

  test('a caller with sudo may choose the text', async () => {
    const { answer, changes } = await createToken(creating({ id: 'mine' }))
    expect(answer).toMatchObject({ auth: { client_token: 'mine', accessor: chosen } })
    expect(changes?.[0]).toMatchObject({
      kind: 'put',
      key: key('token', chosen),
      data: { hash: await storedTokenHashOf('mine', clearCipher) },
      expected: 'absent',
    })
    expect(chosen).not.toBe(accessorOfHash(tokenHashOf('mine')))
  })

  test.each([
    ['a dot', 'a.b', 'must not contain'],
    ['the beginning of a service token', 'hvs.x', 'must not contain'],
    ['the beginning of a batch token', 'hvb.x', 'must not contain'],
    ['the beginning of an old token', 's.x', 'must not contain'],
    ['a space', 'a b', 'visible ASCII'],
    ['a line’s end', 'a\nX-Other: b', 'visible ASCII'],
    ['other letters', 'é', 'visible ASCII'],
    ['more than a request may carry', 'x'.repeat(8193), 'visible ASCII'],
  ])('a chosen text is rejected: %s', async (_, id, message) => {
    await expect(createToken(creating({ id }))).rejects.toThrow(message)
  })

  test('a chosen text is rejected if the token exists', async () => {
    const taken: Item = { ...key('token', chosen), rev: 'r', data: token() }
    await expect(createToken(creating({ id: 'mine' }, [taken]))).rejects.toThrow(
      'a token with this id already exists',
    )
  })
})

describe('items written for a new token', () => {
  test('a child token writes itself and its parent index entry', async () => {
    const parent = accessorOfHash(rootToken.hash)
    const { changes = [] } = await createToken(creating({ id: 'mine' }))
    expect(changes[0]).toMatchObject({ data: { parent, parentCreatedAt: rootToken.createdAt } })
    expect(changes.slice(1)).toEqual([
      { kind: 'put', key: key('child', parent, chosen), data: {}, expected: 'any', times: {} },
    ])
  })

  test('a batch token writes nothing', async () => {
    expect((await createToken(creating({ type: 'batch', ttl: 60 }))).changes).toEqual([])
  })

  test('an orphan writes only itself', async () => {
    expect((await createOrphanToken(creating({ id: 'mine' }))).changes).toHaveLength(1)
  })

  test('each unknown policy causes a warning, built-in policies do not', async () => {
    const known: Item = { ...key('policy', 'dev'), rev: 'r', data: { text: '#' } }
    const { answer } = await createToken(creating({ policies: ['dev', 'nobody', 'constructor'] }, [known]))
    expect(answer.warnings).toEqual(['policy "constructor" does not exist', 'policy "nobody" does not exist'])
  })
})
