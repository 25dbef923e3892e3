import type { Token } from '../model/token.ts'
import { defaultTokenParameters, pickTokenTerms } from './parameters.ts'

/** Builds a root token that never expires. @param now epoch milliseconds */
export const createRootToken = (now: number): Token => ({
  type: 'service',
  hash: '',
  path: 'auth/token/root',
  displayName: 'root',
  policies: ['root'],
  meta: null,
  depth: 0,
  renewable: false,
  createdAt: now,
  ttl: 0,
  creationTtl: 0,
  ...pickTokenTerms(defaultTokenParameters),
})
