import { createHash } from 'node:crypto'
import type { Mount } from '../../../shared/model/mount.ts'
import { accessorOf, hashOf, type Token } from '../../../shared/model/token.ts'
import { portsWith } from '../../builders/ports.ts'

/** 2027-01-15T08:00:00.250Z */
export const NOW = 1_800_000_000_250

/** A service token as stored; a test names what matters to it. */
export const token = (parts: Partial<Token> = {}): Token => ({
  type: 'service',
  hash: hashOf('hvs.parent'),
  path: 'auth/cloud/login',
  displayName: 'cloud-dev',
  policies: ['default', 'dev'],
  meta: null,
  depth: 0,
  numUses: 0,
  renewable: true,
  createdAt: NOW - 10_000,
  ttl: 3600,
  creationTtl: 3600,
  explicitMaxTtl: 0,
  period: 0,
  boundCidrs: [],
  ...parts,
})

export const rootToken = token({ policies: ['root'], ttl: 0, creationTtl: 0, path: 'auth/token/root' })

/** Someone who calls with a token. */
export const parentOf = (own: Token) => ({
  token: own,
  accessor: own.type === 'batch' ? '' : accessorOf(own.hash),
})

export const mount = (parts: Partial<Mount> = {}): Mount => ({
  path: 'cloud',
  type: 'cloud',
  accessor: 'auth_cloud_1',
  uuid: 'uuid-1',
  description: '',
  defaultLeaseTtl: 0,
  maxLeaseTtl: 0,
  tokenType: 'default-service',
  options: {},
  ...parts,
})

/** A cipher that encrypts nothing: what it makes can be looked into. */
export const clearCipher = portsWith({
  cipher: {
    encrypt: async (_: unknown, field: string, text: string) => `encrypted ${field} ${text}`,
    encryptToken: async (content: string) => Buffer.from(content).toString('base64url'),
    decryptToken: async (text: string) => ({
      content: Buffer.from(text, 'base64url').toString('utf8'),
      term: 'identity',
    }),
    hmac: async (text: string) => `hmac ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`,
  },
}).cipher
