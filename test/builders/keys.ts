import { generateKeyPairSync, type KeyObject } from 'node:crypto'

/** A pair of keys of one kind. */
export interface KeyPair {
  publicKey: KeyObject
  privateKey: KeyObject
}

const made = new Map<string, KeyPair>()

function once(name: string, make: () => KeyPair): KeyPair {
  const pair = made.get(name) ?? make()
  made.set(name, pair)
  return pair
}

/** Keys for tests, made when a test first asks for them; `name` distinguishes pairs of one kind. */
export const keys = {
  rsa: (bits: 1024 | 2048 | 3072, name = ''): KeyPair =>
    once(`rsa ${bits} ${name}`, () => generateKeyPairSync('rsa', { modulusLength: bits })),
  dsa: (bits: 1024 | 2048 = 1024): KeyPair =>
    once(`dsa ${bits}`, () =>
      generateKeyPairSync('dsa', { modulusLength: bits, divisorLength: bits === 1024 ? 160 : 256 }),
    ),
  ec: (namedCurve: 'P-256' | 'P-384' | 'P-521' = 'P-256'): KeyPair =>
    once(`ec ${namedCurve}`, () => generateKeyPairSync('ec', { namedCurve })),
}
