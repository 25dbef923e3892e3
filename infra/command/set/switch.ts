import { setTimeout } from 'node:timers/promises'
import { type Readiness, readinessFault } from '../../../shared/replication/drill/readiness-fault.ts'
import { askFor, askOnce } from '../ask.ts'
import type { Connection } from '../connection.ts'
import { Ended } from '../ended.ts'
import { joinUnder, namesToJoin } from './join.ts'
import { type ClusterSeen, lookAtCluster, type NamedCluster } from './look.ts'
import { type NextOfSwitch, nextOfSwitch } from './next.ts'
import { describedSet, shownSet } from './shown.ts'
import { isReadinessData } from './status-shape.ts'
import { judgeSet } from './verdict.ts'

/** What a switch needs of whoever runs it. */
export interface SwitchPorts {
  connection: Connection
  /** a DR operation token */
  token: string
  /** asks before a step; no: it ends there */
  confirm(question: string): Promise<boolean>
  say(text: string): void
  /** told where the set is, each time that it has been seen: for whoever breaks off */
  at(sentence: string): void
  /** told of each step that was done */
  did(step: SwitchDone): void
}

/** What a switch has done; `ms`: how long it took. */
export interface SwitchDone {
  step: 'promote' | 'follow'
  ms: number
}

interface Switching {
  from: NamedCluster
  to: NamedCluster
  ports: SwitchPorts
}

/** For so long a request is repeated that has to wait, and what goes on by itself is waited for. */
const PATIENCE_MS = 10 * 60_000
const LOOK_MS = 1000
const READY_WITHIN_MS = 30_000

/**
 * A planned switch, from wherever the set is to its end.
 * @throws Ended with where the set is
 * @see docs/runbooks/planned-switch.md
 */
export async function switchSet(switching: Switching): Promise<void> {
  const { from, to, ports } = switching
  let waited: { where: string; since: number } | undefined
  for (let first = true; ; first = false) {
    const seen = await lookAtBoth(switching)
    const next = nextOfSwitch(seen)
    ports.at(next.where)
    if (first) ports.say(`1. Look\n\n${described(seen)}`)
    if (next.do === 'stop') throw new Ended(next.exit, `${next.why}. ${next.where}`)
    if (next.do === 'done') return ports.say(next.where)
    if (next.do === 'wait') {
      if (waited?.where !== next.where) ports.say(next.where)
      waited = waited?.where === next.where ? waited : { where: next.where, since: Date.now() }
      if (Date.now() - waited.since > PATIENCE_MS)
        throw new Ended('unwell', `${from.name} does not come to follow ${to.name}. ${next.where}`)
      await setTimeout(LOOK_MS)
      continue
    }
    const began = Date.now()
    if (next.do === 'promote') await promote(switching, next)
    else if (!(await follow(switching, seen, next.where))) continue
    ports.did({ step: next.do, ms: Date.now() - began })
  }
}

async function lookAtBoth({ from, to, ports }: Switching): Promise<{ from: ClusterSeen; to: ClusterSeen }> {
  const [one, other] = await Promise.all([from, to].map(named => lookAtCluster(named, ports.connection)))
  return { from: one as ClusterSeen, to: other as ClusterSeen }
}

const described = ({ from, to }: { from: ClusterSeen; to: ClusterSeen }): string => {
  const both = [from, to]
  return describedSet(shownSet(both, judgeSet(both), Date.now()))
}

const DR = 'sys/replication/dr'

/** A request that has to succeed. @returns the `data` of its answer */
async function ask(
  { ports: { connection, say, token } }: Pick<Switching, 'ports'>,
  at: NamedCluster,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  const request = { method: 'POST', body, token } as const
  const patience = { forMs: PATIENCE_MS, say, named: `${path} on ${at.name}` }
  const asking = () => askOnce(at.base, `${DR}/${path}`, request, connection)
  const { data } = await askFor(asking, patience)
  return (data ?? {}) as Readonly<Record<string, unknown>>
}

async function promote(
  switching: Switching,
  { resumed, where }: NextOfSwitch & { do: 'promote' },
): Promise<void> {
  const { from, to, ports } = switching
  const body = { dr_operation_token: ports.token }
  const fault = resumed ? '' : await obstacle(switching)
  if (fault) throw new Ended('refused', `${fault}. ${where}`)
  ports.say(
    resumed
      ? `2. Switch: ${where} ${to.name} is asked once more.`
      : `2. Switch: ${to.name} is ready. It takes over from ${from.name}; nothing is lost, and for some seconds nobody serves.`,
  )
  await agreed(ports, where)
  ports.at(`${to.name} may be taking over from ${from.name}: that goes on without this command.`)
  await orPlace(switching, () => ask(switching, to, 'secondary/promote', body))
}

/** Does something. @throws Ended with what came of it, and where the set is since */
async function orPlace(switching: Switching, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    const { where } = nextOfSwitch(await lookAtBoth(switching))
    throw new Ended(error.exit, `${error.message}. ${where}`)
  }
}

/**
 * What is in the way of a switch, after a while in which it may pass by itself: behind another switch some things are not
 * known yet. Empty: nothing.
 */
async function obstacle(switching: Switching): Promise<string> {
  const { to, ports } = switching
  const end = Date.now() + READY_WITHIN_MS
  let told = ''
  for (;;) {
    const body = { dr_operation_token: ports.token }
    const ready: Readiness = await ask(switching, to, 'secondary/readiness', body)
    if (!isReadinessData({ ...ready }))
      throw new Ended('refused', `secondary/readiness on ${to.name}: the answer is no readiness`)
    const fault = readinessFault(to.name, ready) || notHeard(ready, switching)
    if (!fault || Date.now() > end) return fault
    if (fault !== told) ports.say(`${fault}; looking again for ${READY_WITHIN_MS / 1000} s`)
    told = fault
    await setTimeout(LOOK_MS)
  }
}

/** Only a primary that answers can hand over. */
const notHeard = ({ lag }: Readiness, { from, to }: Switching): string =>
  lag?.primary === 'answers' ? '' : `${to.name} does not hear of ${from.name}, which could not hand over`

/** Asks before a step that was just told. @throws Ended `declined` */
async function agreed({ confirm }: SwitchPorts, where: string): Promise<void> {
  if (!(await confirm('Go on?'))) throw new Ended('declined', `Ended before the next step. ${where}`)
}

/** @returns false: while it was asked for, somebody else has seen to it */
async function follow(
  switching: Switching,
  seen: { from: ClusterSeen; to: ClusterSeen },
  where: string,
): Promise<boolean> {
  const { ports } = switching
  const { from, to } = seen
  ports.say(
    `3. Send the clients: sys/health answers ${to.word?.health} on ${to.name}, and ${from.word?.health} on ${from.name}. Move the name that clients use, if they do not look themselves.`,
  )
  if (to.word?.health !== 200) throw new Ended('unwell', `${to.name} does not serve. ${where}`)
  ports.say(`4. Follow: ${from.name} is given a token of ${to.name}; it has all data, and needs no wipe.`)
  await agreed(ports, where)
  // an answer takes as long as it takes, and who follows by now must not be revoked
  const anew = await lookAtBoth(switching)
  if (nextOfSwitch(anew).do !== 'follow') return false
  const known = (anew.to.word?.status['known_secondaries'] ?? []) as readonly string[]
  const { id, freed } = namesToJoin(from.word?.cluster ?? from.name, known)
  ports.at(`${to.name} serves; ${from.name} is being told to follow it.`)
  await orPlace(switching, async () => {
    // a try whose answer was lost may have been admitted, by keys that nobody has any more; these names are all known
    for (const name of freed) await ask(switching, to, 'primary/revoke-secondary', { id: name })
    await joinUnder(id, ports.token, (which, path, body) =>
      ask(switching, which === 'primary' ? to : from, path, body),
    )
  })
  return true
}
