import { describe, expect, test } from 'vitest'
import { authenticateToken, countTokenUse, readPresentedToken } from '../../../shared/http/authenticate.ts'
import type { ClusterMode } from '../../../shared/model/cluster.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { portsWith } from '../../builders/ports.ts'
import { type MemoryOptions, memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher as cipher, mount, NOW, sealedBatch, sealingTerm, token } from '../tokens/support.ts'

const text = new Secret('hvs.parent')
const hash = tokenHashOf('hvs.parent')
const place = key('token', accessorOfHash(tokenHashOf('hvs.parent')))
const facts = { mounts: { mounts: [mount()], removing: [] }, source: '10.1.2.3', now: NOW, term: undefined }
const stored = (parts: Partial<Token> = {}): Item<'token'> => ({
  ...place,
  rev: 'r1',
  expires: 9,
  data: token(parts),
})

const whyOf = (work: () => unknown): unknown => {
  try {
    work()
    return 'allowed'
  } catch (error) {
    const { why } = (error as { reason: { why: string } }).reason
    const isNone = ['token-unknown', 'token-expired', 'mount-gone'].includes(why)
    expect(error).toMatchObject({ code: isNone ? 'invalid_token' : 'permission_denied', message: '' })
    return why
  }
}

describe('parsing a presented token', () => {
  test('a service token is looked up by its hash', async () => {
    const presented = await readPresentedToken(text, cipher)
    expect(presented?.key).toEqual(place)
    expect(await presented?.open()).toEqual({ text, hash: tokenHashOf('hvs.parent') })
  })

  test('a batch token is decrypted, not looked up', async () => {
    const content = token({ type: 'batch', hash: '' })
    const batch = new Secret(`hvb.${await cipher.encryptToken(JSON.stringify(content))}`)
    const presented = await readPresentedToken(batch, cipher)
    expect(presented).not.toHaveProperty('key')
    expect(presented?.term).toEqual(key('term', 'identity'))
    const sealed = sealedBatch(JSON.stringify(content))
    expect(await presented?.open()).toEqual({ text: batch, batch: sealed })
  })

  test('a batch token that this cluster did not encrypt is unknown', async () => {
    const other = portsWith({ cipher: { decryptToken: async () => undefined } }).cipher
    const opened = await (await readPresentedToken(new Secret('hvb.x'), other))?.open()
    expect(whyOf(() => authenticateToken(opened, undefined, facts))).toBe('token-unknown')
  })

  test('a request without a token yields no token', async () =>
    expect(await readPresentedToken(undefined, cipher)).toBeUndefined())
})

describe('authenticating a token', () => {
  test.each<[name: string, parts: Partial<Token>, verdict: string]>([
    ['a valid token', {}, 'allowed'],
    ['a token in the second by which its TTL was rounded up', { createdAt: NOW - 3_600_000 }, 'allowed'],
    ['a token in its last millisecond', { createdAt: NOW - 3_600_099 }, 'allowed'],
    ['a token at its expiry', { createdAt: NOW - 3_600_100 }, 'token-expired'],
    ['a token that was renewed', { createdAt: NOW - 9_000_000, renewedAt: NOW - 1000 }, 'allowed'],
    ['a token without expiry', { ttl: 0, createdAt: 0, policies: ['root'] }, 'allowed'],
    ['a token of an existing mount', { mount: 'auth_cloud_1' }, 'allowed'],
    ['a token of a deleted mount', { mount: 'auth_cloud_2' }, 'mount-gone'],
    ['a token used inside its bound CIDRs', { boundCidrs: ['10.0.0.0/8'] }, 'allowed'],
    ['a token used outside its bound CIDRs', { boundCidrs: ['10.9.0.0/16', '192.0.2.1'] }, 'source-address'],
    ['a token without expiry used outside its bound CIDRs', { boundCidrs: ['192.0.2.1'], ttl: 0 }, 'allowed'],
    ["a stored item with another token's hash", { hash: tokenHashOf('hvs.other') }, 'token-unknown'],
  ])('for a service token: %s gives %s', (_, parts, verdict) => {
    expect(whyOf(() => authenticateToken({ text, hash }, stored(parts), facts))).toBe(verdict)
  })

  test('a missing token and an unknown token have different reasons', () => {
    expect(whyOf(() => authenticateToken(undefined, undefined, facts))).toBe('token-missing')
    expect(whyOf(() => authenticateToken({ text, hash }, undefined, facts))).toBe('token-unknown')
  })

  test.each<[name: string, parts: Partial<Token>, verdict: string]>([
    ['a valid token', {}, 'allowed'],
    ['a token in its last millisecond', { createdAt: NOW - 3_600_099 }, 'allowed'],
    ['a token at its expiry', { createdAt: NOW - 3_600_100 }, 'token-expired'],
    ['a token of a deleted mount', { mount: 'x' }, 'mount-gone'],
    ['a token used outside its bound CIDRs', { boundCidrs: ['192.0.2.1'] }, 'source-address'],
  ])('for a batch token: %s gives %s', (_, parts, verdict) => {
    const content = token({ type: 'batch', hash: '', ...parts })
    const batch = sealedBatch(JSON.stringify(content))
    expect(whyOf(() => authenticateToken({ text, batch }, undefined, { ...facts, term: sealingTerm }))).toBe(
      verdict,
    )
  })
})

describe('counting the uses of a token', () => {
  const inMode = (mode: ClusterMode) => ({ record: { mode }, readAt: 0 }) as ClusterRead
  const cluster = inMode('primary')
  /** @param there the stored token, which may be newer than the token that the request has read */
  const around = (there?: Item<'token'>, options: MemoryOptions = {}) => {
    const { as, commits } = memoryStore(there ? [there] : [], options)
    const ports = portsWith({
      store: as('tokens'),
      clock: { sleep: async () => {} },
      entropy: { bytes: () => Buffer.of(1) },
    })
    return { ports, commits }
  }
  const alive = (item: Item<'token'>) => ({ text, token: item.data, item })

  test('a token with unlimited uses is not written', async () => {
    const item = stored()
    const { ports, commits } = around(item)
    expect(await countTokenUse(alive(item), cluster, ports)).toEqual(alive(item))
    expect(commits).toEqual([])
  })

  test('a use is counted only if the stored token is unchanged since it was read', async () => {
    const item = stored({ numUses: 3 })
    const { ports, commits } = around(item)
    const left = await countTokenUse(alive(item), cluster, ports)
    expect(left).toMatchObject({ token: { numUses: 3 }, item: { data: { numUses: 2 } } })
    expect(commits).toEqual([[{ kind: 'count', key: item, left: 2, expected: { rev: 'r1' } }]])
  })

  test('the last use deletes the token, and its request continues', async () => {
    const item = stored({ numUses: 1 })
    const { ports, commits } = around(item)
    expect(await countTokenUse(alive(item), cluster, ports)).toEqual({ text, token: item.data, spent: true })
    expect(commits).toEqual([[{ kind: 'delete', key: item, expected: { rev: 'r1' } }]])
  })

  test('after a conflict the use is counted on the current token', async () => {
    const { ports } = around({ ...stored({ numUses: 1 }), rev: 'r2' })
    expect(await countTokenUse(alive(stored({ numUses: 2 })), cluster, ports)).toMatchObject({ spent: true })
  })

  test.each<ClusterMode>(['secondary', 'bootstrapping'])(
    'a %s cluster counts no uses and rejects tokens with limited uses',
    async mode => {
      const { ports, commits } = around(stored({ numUses: 3 }))
      await expect(countTokenUse(alive(stored({ numUses: 3 })), inMode(mode), ports)).rejects.toMatchObject({
        code: 'permission_denied',
        reason: { why: 'uses-not-counted-here' },
      })
      expect(await countTokenUse(alive(stored()), inMode(mode), ports)).toEqual(alive(stored()))
      expect(commits).toEqual([])
    },
  )

  test('a request that finds no use left is rejected', async () => {
    const { ports } = around()
    await expect(countTokenUse(alive(stored({ numUses: 1 })), cluster, ports)).rejects.toMatchObject({
      code: 'invalid_token',
      reason: { why: 'token-spent' },
    })
  })

  test('a request that loses every commit gets busy with retry-after', async () => {
    const { ports } = around(stored({ numUses: 5 }), { verdicts: Array(99).fill('conflict') })
    await expect(countTokenUse(alive(stored({ numUses: 5 })), cluster, ports)).rejects.toMatchObject({
      code: 'busy',
      retryAfter: 1,
    })
  })
})
