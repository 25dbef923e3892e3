import { setTimeout } from 'node:timers/promises'
import { askReplication, drStatusOf, until } from '../dr-client.ts'
import { caughtUp, follow, reportedTokens } from '../drill/drill.ts'
import type { Host } from '../host.ts'
import type { LinkTap } from '../link-tap.ts'
import type { ChangeSeen } from './judge.ts'
import { unknownOf } from './look-up.ts'
import type { PacedLoad } from './paced-load.ts'

/** Two clusters, of which now the one and now the other is the primary. */
export interface SoakSet {
  primary: Host
  secondary: Host
  /** between them, one for each */
  taps: readonly LinkTap[]
  load: PacedLoad
  chance: () => number
  /** a prepared operation token, and the set's root token */
  token: string
  root: string
}

const CUT_MS = 3000
const PATIENCE_MS = 180_000
const PAUSE_MS = 1000
/** Logins of so long before a change are all looked up; of earlier ones some. */
const AT_RISK_MS = 15_000
const SOME = 300

/** Has the secondary take over, and the other follow it. @throws Error when that does not come about */
export async function changeRole(set: SoakSet, kind: ChangeSeen['kind']): Promise<ChangeSeen> {
  const { primary: from, secondary: to, taps, load, token, root } = set
  const begun = Date.now()
  if (kind === 'forced') {
    for (const tap of taps) tap.cut('both')
    await setTimeout(CUT_MS)
    load.turnTo(to)
    await insist(() => askReplication(to, 'secondary/promote', { dr_operation_token: token, force: true }))
    await setTimeout(CUT_MS)
    for (const tap of taps) tap.heal()
    await until(`${from.cluster} does not close`, async () => (await modeOf(from)) === 'secondary')
  } else {
    await insist(() => askReplication(to, 'secondary/promote', { dr_operation_token: token }))
    load.turnTo(to)
  }
  const atRisk = load.taken()
  await insist(() => follow(from, to, token))
  await caughtUp(from, to)
  const seconds = Math.round((Date.now() - begun) / 1000)
  ;[set.primary, set.secondary] = [to, from]
  const looked = atRisk
    .filter(({ at }) => at > begun - AT_RISK_MS || set.chance() < SOME / atRisk.length)
    .map(({ accessor }) => accessor)
  const lost = await unknownOf(to, root, looked)
  const named = new Set(lost.length > 0 ? await insist(() => reportedTokens(from, token)) : [])
  const unnamed = lost.filter(one => !named.has(one))
  return { kind, to: to.cluster, seconds, looked: looked.length, lost, unnamed }
}

const modeOf = async (host: Host): Promise<unknown> =>
  (await drStatusOf(host).catch(() => undefined))?.['mode']

/** Repeats what bad weather hinders, as operators do. @throws what it came to in the end */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > end) throw error
      await setTimeout(PAUSE_MS)
    }
  }
}
