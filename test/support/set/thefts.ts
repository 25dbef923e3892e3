import type { Action, Game } from './actions.ts'
import type { SetMember } from './member.ts'
import { forgedToken, keysOf } from './thief.ts'

const R = '/sys/replication/dr'
const REKEY = '/sys/rotate/recovery'
const ROOT = '/sys/generate-root'

/** A forged batch token of a thief. `signer` notes whether the stolen keys had a signer. */
export interface Forgery {
  token: string
  hadSigner: boolean
}

/** Shares of a recovery key that a game has made. */
export interface KnownShares {
  threshold: number
  shares: readonly string[]
}

const counts = async (one: SetMember, token: string): Promise<boolean> =>
  (await one.request('GET', '/auth/token/lookup-self', undefined, { token })).status === 200

const atOnePrimary = async (game: Game, work: (primary: SetMember) => Promise<unknown>): Promise<void> => {
  const all = game.primaries()
  if (all.length > 0) await work(game.pick(all))
}

/**
 * Checks after a retirement of keys that no cluster that has acknowledged the retirement accepts an earlier
 * forgery. The primary itself is checked first.
 */
async function checkRetired({ faults }: Game, primary: SetMember, before: readonly Forgery[]): Promise<void> {
  for (const { token } of before)
    if (await counts(primary, token))
      faults.push(`${primary.name} takes a batch token of a term that it has retired`)
}

/**
 * Sends recovery shares one after the other. @returns the last answer; undefined: a share was refused or not
 * answered
 */
async function allGiven(
  primary: SetMember,
  step: 'update' | 'verify',
  nonce: string,
  shares: readonly string[],
) {
  let told: { complete?: boolean; keys: readonly string[]; verification_nonce: string } | undefined
  for (const key of shares) {
    const { status, body } = await primary.request('POST', `${REKEY}/${step}`, { key, nonce })
    if (status !== 200) return undefined
    told = body.data
  }
  return told
}

/** The actions about keys: key changes, and misuse of keys by thieves. To add an action, add a row. */
export const thefts: Readonly<Record<string, Action>> = {
  forge: {
    weight: 3,
    act: async game => {
      const keys = await keysOf(game.set.at(game.pick(game.names))).catch(() => undefined)
      if (!keys) return
      const now = game.set.clock.now()
      for (const policies of [['default'], ['root']])
        game.forgeries.push({
          token: forgedToken(keys, policies, { now }),
          hadSigner: keys.signer !== undefined,
        })
    },
  },
  retire: {
    weight: 1,
    act: game =>
      atOnePrimary(game, async primary => {
        const before = [...game.forgeries]
        const { status } = await primary.request('POST', '/sys/rotate', { retire: true })
        if (status === 200) await checkRetired(game, primary, before)
      }),
  },
  revokeAndRetire: {
    weight: 1,
    act: game =>
      atOnePrimary(game, async primary => {
        const before = [...game.forgeries]
        const { link } = await game.set.at(game.pick(game.names)).record()
        const { status } = await primary.request('POST', `${R}/primary/revoke-secondary`, {
          id: link?.secondaryId || 'west',
          retire: true,
        })
        if (status === 200) await checkRetired(game, primary, before)
      }),
  },
  // a rekey with verification, as the pages advise, so that shares whose answer was lost do not replace known
  // shares
  rekey: {
    weight: 1,
    act: game =>
      atOnePrimary(game, async primary => {
        const begun = await primary.request('POST', `${REKEY}/init`, {
          secret_shares: 3,
          secret_threshold: 2,
          require_verification: true,
        })
        if (begun.status !== 200) return
        const { threshold, shares } = game.shares.at(-1) as KnownShares
        const given = await allGiven(primary, 'update', begun.body.data.nonce, shares.slice(0, threshold))
        if (!given?.complete) return
        const { keys, verification_nonce: nonce } = given
        game.shares.push({ threshold: 2, shares: keys })
        await allGiven(primary, 'verify', nonce, keys.slice(0, 2))
      }),
  },
}

/**
 * Checks forgeries and shares at rest. No cluster accepts a token that a member without a signer forged.
 * Shares of one recovery key count together, and with no other key's shares. After one retirement of keys no
 * forged token is accepted.
 */
export async function checkKeys(game: Game, primary: SetMember): Promise<void> {
  const { faults, forgeries, set } = game
  for (const { token, hadSigner } of forgeries)
    if (!hadSigner && (await counts(primary, token)))
      faults.push(`${primary.name} takes what a member forged`)
  let known = 0
  for (const one of game.shares) if (await isShareOfPrimary(primary, one)) known += 1
  if (known !== 1) faults.push(`shares of ${known} recovery keys count`)
  await primary.ok('POST', '/sys/rotate', { retire: true })
  await set.converge()
  await checkRetired(game, primary, forgeries)
}

async function isShareOfPrimary(primary: SetMember, { shares: [share] }: KnownShares): Promise<boolean> {
  await primary.request('DELETE', `${ROOT}/attempt`)
  const begun = await primary.ok('PUT', `${ROOT}/attempt`, {})
  const { status } = await primary.request('PUT', `${ROOT}/update`, { key: share, nonce: begun.body.nonce })
  return status === 200
}
