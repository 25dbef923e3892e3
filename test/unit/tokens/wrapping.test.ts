import { describe, expect, test } from 'vitest'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import type { WrappedResponse } from '../../../shared/model/wrapped.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import {
  lookUpWrappingToken,
  rewrapResponse,
  unwrapResponse,
  wrapRequestBody,
} from '../../../shared/tokens/unwrap.ts'
import { wrapResponse } from '../../../shared/tokens/wrapping.ts'
import { type EncryptedText, Secret } from '../../../shared/values/secret.ts'
import { callWith } from '../../support/requests/call.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher as cipher, NOW, token } from './support.ts'

const accessor = accessorOfHash(tokenHashOf('hvs.wrapping'))

describe('wrapping a response', () => {
  test('the response is stored encrypted for the requested TTL', async () => {
    const { info, change } = await wrapResponse(
      {
        response: '{"data":1}',
        path: 'auth/cloud/login',
        ttl: 60,
        now: NOW,
        wrappedAccessor: 'a1',
        mount: 'auth_1',
        text: new Secret('hvs.wrapping'),
      },
      cipher,
    )
    expect(info).toEqual({
      token: 'hvs.wrapping',
      accessor,
      ttl: 60,
      creation_time: '2027-01-15T08:00:00.25Z',
      creation_path: 'auth/cloud/login',
      wrapped_accessor: 'a1',
    })
    expect(change).toEqual({
      kind: 'put',
      key: key('wrapped', accessor),
      expected: 'absent',
      times: { expires: Math.floor(NOW / 1000) + 60 },
      data: {
        hash: tokenHashOf('hvs.wrapping'),
        response: 'encrypted response {"data":1}',
        creationPath: 'auth/cloud/login',
        createdAt: NOW,
        ttl: 60,
        wrappedAccessor: 'a1',
        mount: 'auth_1',
      },
    })
    expect(JSON.stringify(change)).not.toContain('hvs.wrapping')
  })

  test('wrapped_accessor is omitted if the response contains no token', async () => {
    const wrapping = {
      response: '{}',
      path: 'p',
      ttl: 1,
      now: NOW,
      wrappedAccessor: '',
      mount: undefined,
      text: new Secret('hvs.w'),
    }
    expect((await wrapResponse(wrapping, cipher)).info).not.toHaveProperty('wrapped_accessor')
  })
})

describe('using a wrapping token', () => {
  const data: WrappedResponse = {
    hash: tokenHashOf('hvs.wrapping'),
    response: 'encrypted' as EncryptedText,
    creationPath: 'auth/cloud/login',
    createdAt: NOW,
    ttl: 60,
    wrappedAccessor: 'a1',
  }
  const item: Item<'wrapped'> = { ...key('wrapped', accessor), rev: 'r1', data }
  const call = (parts: object) =>
    callWith({
      now: NOW + 5000,
      ports: {
        store: memoryStore([item]).as('wrapping'),
        cipher: { ...cipher, decrypt: async () => new Secret('{"data":{"a":1}}') },
        entropy: { bytes: (length: number) => Buffer.alloc(length, 1) },
      },
      ...parts,
    })

  test.each([
    ['in the body', { parameters: { token: 'hvs.wrapping' } }],
    ['as the caller’s own', { bearer: new Secret('hvs.wrapping') }],
    [
      'in the body, whatever the caller’s own',
      { parameters: { token: 'hvs.wrapping' }, bearer: new Secret('hvs.x') },
    ],
  ])('unwrapping with the token %s returns the response once', async (_, parts) => {
    expect(await unwrapResponse(call(parts))).toEqual({
      answer: { kind: 'unwrapped', body: '{"data":{"a":1}}' },
      changes: [{ kind: 'delete', key: item, expected: { rev: 'r1' } }],
    })
  })

  test.each([
    ['opened', unwrapResponse],
    ['looked up', lookUpWrappingToken],
    ['put behind another token', rewrapResponse],
  ])('a token with the same key but another text is rejected: %s', async (_, handle) => {
    const other = { ...item, data: { ...data, hash: tokenHashOf('hvs.other') } }
    const { store } = memoryStore([other])
    const asked = call({ parameters: { token: 'hvs.wrapping' } })
    const request = { ...asked, ports: { ...asked.ports, store } }
    await expect(handle(request as never)).rejects.toThrow('wrapping token is not valid or does not exist')
  })

  test('a wrapping lookup does not use up the token', async () => {
    expect(await lookUpWrappingToken(call({ parameters: { token: 'hvs.wrapping' } }))).toEqual({
      answer: {
        kind: 'data',
        data: {
          creation_path: 'auth/cloud/login',
          creation_time: '2027-01-15T08:00:00.25Z',
          creation_ttl: 60,
        },
      },
    })
  })

  test('rewrapping invalidates the old token and restarts the TTL', async () => {
    const { answer, changes } = await rewrapResponse(call({ parameters: { token: 'hvs.wrapping' } }))
    expect(answer).toMatchObject({
      kind: 'wrapped',
      info: {
        ttl: 60,
        creation_path: 'auth/cloud/login',
        creation_time: '2027-01-15T08:00:05.25Z',
        wrapped_accessor: 'a1',
      },
    })
    expect(changes).toMatchObject([
      { kind: 'delete', key: item, expected: { rev: 'r1' } },
      { expected: 'absent' },
    ])
    expect(answer).not.toMatchObject({ info: { token: 'hvs.wrapping' } })
  })

  test('rewrapping for longer than 768 h is rejected', async () => {
    const waiting = (ttl: number) => {
      const old = { ...item, data: { ...data, ttl } }
      const { ports } = call({})
      return rewrapResponse(
        callWith({
          now: NOW,
          parameters: { token: 'hvs.wrapping' },
          ports: { ...ports, store: memoryStore([old]).store },
        }),
      )
    }
    expect((await waiting(2_764_800)).answer).toMatchObject({ info: { ttl: 2_764_800 } })
    await expect(waiting(2_764_801)).rejects.toThrow('768h')
  })

  test.each([
    [
      'an unknown token',
      { parameters: { token: 'hvs.other' } },
      'wrapping token is not valid or does not exist',
    ],
    ['no token', {}, 'token is required'],
  ])('unwrapping is rejected: %s', async (_, parts, message) => {
    await expect(unwrapResponse(call(parts))).rejects.toThrow(message)
    await expect(lookUpWrappingToken(call(parts))).rejects.toThrow(message)
    await expect(rewrapResponse(call(parts))).rejects.toThrow(message)
  })
})

test('sys/wrapping/wrap returns its parameters, and requires a TTL', () => {
  const caller = { token: token(), accessor: 'a', text: new Secret('t') }
  const request = { path: 'sys/wrapping/wrap', wrapTtl: 60 }
  const raw = JSON.parse('{"a": [1], "__proto__": 2}')
  expect(wrapRequestBody(callWith({ caller, request, raw })).answer).toEqual({ kind: 'data', data: raw })
  expect(() => wrapRequestBody(callWith({ caller, raw }))).toThrow('X-Vault-Wrap-TTL')
})
