import type { StoredIssuer } from '../../shared/model/jwt.ts'

/** Builds the issuer of an account, as a login stores it. */
export const storedIssuer = (account: string, parts: Partial<StoredIssuer> = {}): StoredIssuer => ({
  account,
  partition: 'aws',
  learnt: true,
  blocked: false,
  keys: [],
  fetchedAt: 0,
  changedAt: 0,
  ...parts,
})
