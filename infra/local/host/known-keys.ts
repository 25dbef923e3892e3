import { isShareOf } from '../../../shared/cluster/recovery.ts'
import { parseShare } from '../../../shared/cluster/shares.ts'
import type { RecoveryKey } from '../../../shared/model/cluster.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { fromStoredItem, type StoredItem } from '../../../shared/storage/requests.ts'
import type { LocalEngine } from '../engine/engine.ts'
import type { LocalLambdas } from '../lambda/lambdas.ts'
import { type SetKeys, type StoredSetKeys, storeSetKeys } from './initialise.ts'

/** The root token, and the recovery shares that the cluster accepts now. */
export interface KnownClusterKeys {
  /** the keys that `cluster.json` names */
  present(): SetKeys
  /** stores the root token and the shares of another cluster of the set */
  adopt(keys: SetKeys): Promise<void>
  /** stores the new shares from an answer of rekey */
  readAnswer(answer: unknown): Promise<void>
  close(): void
}

export interface KnownKeysOptions {
  directory: string
  kept: StoredSetKeys
  /** reads the cluster's own copy of the recovery key */
  readStored: () => Promise<RecoveryKey | undefined>
  /** called when `cluster.json` must name other keys */
  onChange: (keys: SetKeys) => void
}

/**
 * Milliseconds between two reads of the recovery key. A secondary receives a new recovery key from its
 * primary.
 */
const RECOVERY_KEY_PERIOD_MS = 5000
/** Maximum number of sets of shares that are kept, the newest sets. */
const MOST_SETS = 8

/**
 * Tracks which recovery shares the cluster accepts. A rekey on this or another cluster of the set replaces
 * the shares, and only the rekey's answer contains the new shares.
 */
export async function startKnownClusterKeys(options: KnownKeysOptions): Promise<KnownClusterKeys> {
  const { directory, kept, readStored, onChange } = options
  let present: SetKeys = { root_token: kept.root_token, recovery_keys: kept.recovery_keys }
  let sets = distinct([kept.recovery_keys, ...(kept.other_recovery_keys ?? [])])
  let written = ''
  const keep = (keys: StoredSetKeys): void => {
    const text = JSON.stringify(keys)
    // a secondary that never had its own keys stores none
    if (text === written || sets.length === 0) return
    storeSetKeys(directory, keys)
    written = text
  }
  let { root_token } = kept
  const looks = { begun: 0, used: 0 }
  const look = async (): Promise<void> => {
    const turn = ++looks.begun
    const stored = await readStored()
    // a later read has already seen newer keys
    if (turn < looks.used) return
    looks.used = turn
    const next = { root_token, recovery_keys: countingShares(sets, stored) }
    const isOther = JSON.stringify(next) !== JSON.stringify(present)
    present = next
    keep({ ...next, other_recovery_keys: sets.filter(one => !isSame(one, next.recovery_keys)) })
    if (isOther) onChange(next)
  }
  const learn = (shares: string[]): void => {
    sets = distinct([shares, present.recovery_keys, ...sets]).slice(0, MOST_SETS)
  }
  await look()
  const timer = setInterval(() => void look().catch(() => undefined), RECOVERY_KEY_PERIOD_MS)
  timer.unref()
  return {
    present: () => present,
    adopt: keys => {
      learn(keys.recovery_keys)
      root_token = keys.root_token
      return look()
    },
    readAnswer: async answer => {
      learn(newSharesIn(answer))
      // errors are ignored, because the caller gets the answer anyway and another read follows
      await look().catch(() => undefined)
    },
    close: () => clearInterval(timer),
  }
}

/** Passes the answers of one function to `hear` before the callers get the answers. */
export const interceptApiAnswers = (
  lambdas: LocalLambdas,
  functionName: string,
  hear: (answer: unknown) => Promise<void>,
): LocalLambdas => ({
  ...lambdas,
  invoke: async (name, event) => {
    const answer = await lambdas.invoke(name, event)
    if (name === functionName) await hear(answer)
    return answer
  },
})

const isSame = (one: readonly string[], other: readonly string[]): boolean => one.join() === other.join()

/** Returns the non-empty sets of shares without duplicates. */
const distinct = (sets: readonly string[][]): string[][] =>
  sets.filter((set, index) => set.length > 0 && sets.findIndex(one => isSame(one, set)) === index)

/** Returns the set whose shares the cluster accepts. Empty: this host has never seen the accepted shares. */
const countingShares = (sets: readonly string[][], stored: RecoveryKey | undefined): string[] =>
  sets.find(set => stored && set.some(share => isShareOf(stored, parseShare(share)))) ?? []

/**
 * Returns the new shares in an answer of rekey. Empty: the answer has no shares, or they are encrypted for
 * their holders.
 */
function newSharesIn(answer: unknown): string[] {
  const { body } = (answer ?? {}) as { body?: unknown }
  if (typeof body !== 'string' || !body.includes('"keys"')) return []
  const { data } = JSON.parse(body) as {
    data?: { keys?: string[]; pgp_fingerprints?: string[] | null } | null
  }
  return data?.pgp_fingerprints ? [] : (data?.keys ?? [])
}

/** Reads the recovery key from the table that the functions' environment names. */
export async function readRecoveryKey(
  send: LocalEngine['send'],
  { environment }: { environment: Record<string, string> },
): Promise<RecoveryKey | undefined> {
  const { kind, pk, sk } = key('recovery-key')
  const { Items } = await send('Query', {
    TableName: environment['DATA_TABLE'],
    ConsistentRead: true,
    KeyConditionExpression: 'pk = :pk AND sk = :sk',
    ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
  })
  return fromStoredItem(kind, Items[0] as StoredItem | undefined, 0)?.data
}
