import { bounds } from '../../values/bounds.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'
import { type FenceCall, type FencingPorts, readFenceClaimant, sendFenceCall } from './fence-call.ts'
import {
  hasStaleFenceOutcomes,
  isFenceDue,
  listFenceAddressesDue,
  readFenceState,
  type StoredFenceResults,
  storeFenceOutcomes,
} from './fence-outcomes.ts'

/**
 * Milliseconds between the starts of two calls to an address after a promotion. This number is also the timeout of
 * calls before serving.
 */
const FENCE_QUICK_MS = 2000
/** Timeouts of the first calls to an address, milliseconds. Each unanswered call gives the next call more time. */
const FENCE_TIMEOUTS_MS: readonly number[] = [FENCE_QUICK_MS, 4000, 8000]
/**
 * Milliseconds for which an address is not called after the end of a call. If all answers are slow, answers of
 * other clusters arrive in this time, and the next call carries the statements in them.
 */
const FENCE_PAUSE_MS = 1000
/** Milliseconds between two checks whether this cluster was fenced. */
const FENCED_LOOK_MS = 50

/** One run of the worker that fences other clusters. */
interface Run {
  ports: FencingPorts
  to: CreateLinkCarrier
  /** `deadline`, epoch milliseconds: no call begins after this time */
  deadline: number
  /** `loops`: one loop per address, so that each address gets one call at a time */
  loops: Map<string, Promise<void>>
  /** `news` ends the pauses of all loops when new statements or addresses are known */
  news: News
  /**
   * `noting`: the last outcome to be stored; loops store their outcomes one after the other, because all write the
   * same item
   */
  noting: Promise<unknown>
}

/**
 * Makes every other primary of the set end its epoch: calls `Fence` at each known address of the set until the
 * cluster there acknowledges. Each address has its own loop, so that a slow cluster does not delay calls to other
 * clusters. The loop calls a cluster that denies the fence again as soon as this cluster has more statements. For
 * ten minutes after a promotion each loop calls every two seconds; otherwise one run makes one call per address. On
 * a cluster that is not a primary the function does nothing.
 * @param deadline epoch milliseconds: no call begins after this time; the last call may take ten seconds
 */
export async function fenceOtherClusters(
  ports: FencingPorts,
  to: CreateLinkCarrier,
  deadline: number,
): Promise<void> {
  const run: Run = { ports, to, deadline, loops: new Map(), news: createNews(), noting: Promise.resolve() }
  await beginLoops(run)
  while (run.loops.size > 0) await Promise.race(run.loops.values())
}

/** Begins a loop for each address that is due and has no loop yet. */
async function beginLoops(run: Run): Promise<void> {
  const { ports, loops } = run
  const stand = await readFenceState(ports, 'due')
  if (!stand) return
  if (hasStaleFenceOutcomes(stand)) await storeFenceOutcomes([], stand.record.epoch ?? '', ports)
  for (const address of listFenceAddressesDue(stand)) {
    if (loops.has(address)) continue
    const loop = fenceAt(address, run)
      .catch((error: unknown) =>
        ports.log.warn('a cluster was not fenced', { address, error: String(error) }),
      )
      .finally(() => loops.delete(address))
    loops.set(address, loop)
  }
}

/** Calls one address until the cluster at that address acknowledges, or the run is over. */
async function fenceAt(address: string, run: Run): Promise<void> {
  const { ports, to, deadline } = run
  const { clock } = ports
  let unanswered: number | undefined
  for (;;) {
    const began = clock.now()
    const stand = await readFenceState(ports, 'due')
    if (!stand || !listFenceAddressesDue(stand).includes(address)) return
    const claimant = await readFenceClaimant(stand.record, stand.known, ports)
    if (!claimant) return
    // earlier runs have called this address, so the timeout starts at its maximum
    unanswered ??= stand.outcomes[address] ? FENCE_TIMEOUTS_MS.length : 0
    const patience = (stand.isQuick ? FENCE_TIMEOUTS_MS[unanswered] : undefined) ?? bounds.FENCE_CALL_MS
    const call = await sendFenceCall(claimant, address, { to, patience }, ports)
    if (!call.isAnswered) unanswered++
    const noted = await storeInTurn(call, claimant.head.epoch, run)
    if (!noted) return
    if (noted.hasNewProofs && clock.now() < deadline) {
      await beginLoops(run)
      run.news.announce()
    }
    if (!isFenceDue(noted.outcomes[address], noted.shown)) return
    // New statements may convince a cluster that refused earlier statements, so the loop calls the cluster without
    // a pause.
    if (noted.shown.chain <= call.chain) {
      if (!noted.isQuick) return
      const next = Math.min(Math.max(began + FENCE_QUICK_MS, clock.now() + FENCE_PAUSE_MS), deadline)
      await Promise.race([clock.sleep(Math.max(0, next - clock.now())), run.news.next()])
    }
    if (clock.now() >= deadline) return
  }
}

interface News {
  /** `next` resolves with the next announcement of statements or addresses */
  next(): Promise<void>
  announce(): void
}

function createNews(): News {
  let { promise, resolve } = Promise.withResolvers<void>()
  return {
    next: () => promise,
    announce: () => {
      resolve()
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
  }
}

function storeInTurn(call: FenceCall, epoch: string, run: Run): Promise<StoredFenceResults | undefined> {
  const noted = run.noting.then(() => storeFenceOutcomes([call], epoch, run.ports))
  run.noting = noted.catch(() => undefined)
  return noted
}

/**
 * Fences other clusters before this cluster serves, after it was stopped or asleep. The function calls all known
 * addresses at once, and waits up to two seconds for a later primary to fence this cluster. After these two seconds
 * the cluster serves, because the other clusters may be lost permanently.
 */
export async function fenceBeforeServing(ports: FencingPorts, to: CreateLinkCarrier): Promise<void> {
  const { clock, journal } = ports
  const until = clock.now() + FENCE_QUICK_MS
  const stand = await readFenceState(ports, 'all')
  const claimant = stand && (await readFenceClaimant(stand.record, stand.known, ports))
  if (!claimant || claimant.addresses.length === 0) return
  const calls = await Promise.all(
    claimant.addresses.map(address =>
      sendFenceCall(claimant, address, { to, patience: FENCE_QUICK_MS }, ports),
    ),
  )
  await storeFenceOutcomes(calls, claimant.head.epoch, ports)
  if (!calls.some(({ isAnswered }) => isAnswered)) return
  // A cluster with a later epoch has learnt this cluster's address from the call, and may fence this cluster now.
  while (clock.now() < until && (await journal.head())?.mode === 'writing') await clock.sleep(FENCED_LOOK_MS)
}
