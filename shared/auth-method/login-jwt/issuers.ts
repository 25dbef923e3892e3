import type { Call, MountCall } from '../../api/call.ts'
import type { AwsIssuer } from '../../identity-proof/aws-issuer.ts'
import type { FetchedKeys } from '../../model/issuer-memory.ts'
import type { IssuerKey, StoredIssuer } from '../../model/jwt.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'

type Fetched = Extract<FetchedKeys, { kind: 'keys' }>

const sameKeys = (one: readonly IssuerKey[], other: readonly IssuerKey[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** Returns an issuer without keys, as a mount learns it. */
export const newIssuer = (account: string, { partition }: AwsIssuer): StoredIssuer => ({
  account,
  partition,
  learnt: true,
  blocked: false,
  keys: [],
  fetchedAt: 0,
  changedAt: 0,
})

/** Returns an issuer with keys that were fetched. */
export function withFetchedKeys(issuer: StoredIssuer, { keys, at }: Fetched): StoredIssuer {
  const { lastError: _, ...rest } = issuer
  return {
    ...rest,
    keys,
    fetchedAt: at,
    changedAt: sameKeys(keys, issuer.keys) ? issuer.changedAt : at,
  }
}

/** Logs a key that has other content than the key of the same ID that was stored before. */
export function warnAboutChangedKeys(
  { ports }: Pick<Call, 'ports'>,
  id: string,
  before: StoredIssuer,
  { keys }: Fetched,
) {
  const changed = before.keys.filter(old => keys.some(key => key.kid === old.kid && !sameKeys([key], [old])))
  if (changed.length > 0)
    ports.log.warn('the issuer published another key under a known key ID', {
      issuer: id,
      account: before.account,
      kids: changed.map(({ kid }) => kid),
    })
}

/**
 * The changes that let an issuer speak for an account, or why they are refused. `configured`: a configured issuer speaks for the account.
 * `blocked`: the account's issuer is blocked, so a new issuer of the account would evade that.
 */
export type AccountClaim =
  | { kind: 'free'; changes: readonly Change[]; supersedes?: string }
  | { kind: 'configured' | 'blocked'; by: string }

/**
 * Plans that an issuer speaks for an account. AWS gives an account one issuer, so a learnt issuer of the account ends.
 * A configured issuer never ends so.
 */
export async function planIssuerOfAccount(
  { ports, mount }: MountCall,
  id: string,
  account: string,
  by: 'administrator' | 'login' = 'login',
): Promise<AccountClaim> {
  const place = key('account-issuer', mount.accessor, account)
  const [held] = await ports.store.read([place])
  if (held?.data.issuer === id) return { kind: 'free', changes: [] }
  const claim = replaceItem(place, held, { issuer: id })
  const [old] = held ? await ports.store.read([key('issuer', mount.accessor, held.data.issuer)]) : []
  if (!old) return { kind: 'free', changes: [claim] }
  if (!old.data.learnt) return { kind: 'configured', by: old.sk }
  if (old.data.blocked && by === 'login') return { kind: 'blocked', by: old.sk }
  return {
    kind: 'free',
    changes: [claim, replaceItem(old, old, { ...old.data, superseded: true })],
    supersedes: old.sk,
  }
}
