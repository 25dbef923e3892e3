import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isModernKey, isRegistrableKey } from '../../../shared/identity-proof/signature-algorithms.ts'
import { keys } from '../../builders/keys.ts'

describe('keys of registered certificates', () => {
  test.each([
    ['RSA of 2048 bits', keys.rsa(2048), { registered: true, modern: true }],
    ['RSA of 1024 bits', keys.rsa(1024), { registered: true, modern: false }],
    [
      'RSA of 1016 bits',
      generateKeyPairSync('rsa', { modulusLength: 1016 }),
      { registered: false, modern: false },
    ],
    ['DSA', keys.dsa(), { registered: true, modern: false }],
    ['ECDSA on P-256', keys.ec('P-256'), { registered: true, modern: true }],
    ['ECDSA on P-384', keys.ec('P-384'), { registered: true, modern: true }],
    ['ECDSA on P-521', keys.ec('P-521'), { registered: false, modern: true }],
    [
      'a key type that signs no identity documents',
      generateKeyPairSync('ed25519'),
      { registered: false, modern: false },
    ],
  ])('%s: $2', (_, { publicKey }, wanted) => {
    expect({ registered: isRegistrableKey(publicKey), modern: isModernKey(publicKey) }).toEqual(wanted)
  })
})
