import { unmaskToken } from '../../../shared/ceremony/encode.ts'
import { linkToPrimaryOf } from '../../../shared/model/cluster.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { activationFrom, type Game } from './actions.ts'
import type { SetMember } from './member.ts'

const R = '/sys/replication/dr'
/** The number of checks after which the set must be in order. */
const LOOKS = 12

/**
 * Acts as the operator after a game: makes one cluster the primary and all other clusters its secondaries.
 * First the clusters get time to finish their work without an operator.
 * @throws when the clusters still change after the given time
 */
export async function setInOrder(game: Game): Promise<void> {
  const { set } = game
  const said: string[] = []
  for (let looks = 0; looks < LOOKS; looks++) {
    // the leases of dead processes end, and schedules find their unfinished work
    for (let minutes = looks === 0 ? 2 : 0; minutes < 3; minutes++) {
      await set.settled()
      await set.tick()
      set.pass(60_000)
    }
    await set.settled()
    const [primary, ...more] = [...game.primaries()].sort(byEpoch(game))
    if (!primary) said.push(await promoted(game))
    for (const one of more) said.push(await asked(game, one, 'primary/demote', {}))
    if (!primary || more.length > 0) continue
    const behind = []
    let changing = false
    for (const one of game.others()) {
      const record = await one.record()
      const { mode, operation } = record
      // work of a dead process continues after a minute or more, and may still make a cluster refuse requests
      changing ||= operation !== undefined
      // a cluster that follows no primary may have equal data by chance
      const follows =
        mode === 'secondary' && linkToPrimaryOf(record) !== undefined && !(await isTurnedAway(one))
      if (!follows || !(await set.isEven(one.name))) behind.push(one)
    }
    if (changing) {
      said.push('a role is being changed')
      continue
    }
    if (behind.length === 0) return
    for (const one of behind) said.push(await joined(game, one, primary))
  }
  throw new Error(`the set never comes to rest: ${said.slice(-6).join('; ')}`)
}

/**
 * Reports whether the primary has revoked a secondary. A revoked secondary may have equal data by chance, but
 * receives no entries any more.
 */
async function isTurnedAway({ ports }: SetMember): Promise<boolean> {
  const [contact] = await ports.store.read([key('contact')])
  return contact?.data.failedCall?.code === 'permission_denied'
}

/** Sorts clusters by epoch, the newest first. */
const byEpoch = (game: Game) => (a: SetMember, b: SetMember) => (epochIn(game, a) > epochIn(game, b) ? -1 : 1)

const epochIn = ({ set }: Game, { name }: SetMember): string =>
  set.recording.world.get(name)?.head?.epoch ?? ''

const placeIn = ({ set }: Game, { name }: SetMember): string => {
  const { epoch = '', last = 0 } = set.recording.world.get(name)?.head ?? {}
  return `${epoch}/${String(last).padStart(12, '0')}`
}

/**
 * Promotes the cluster with the most entries. If all clusters have been disabled, one of them begins a new
 * set.
 */
async function promoted(game: Game): Promise<string> {
  const { set, operator } = game
  const others = [...game.others()].sort((a, b) => (placeIn(game, a) > placeIn(game, b) ? -1 : 1))
  const first = others.find(({ name }) => set.recording.world.get(name)?.record?.mode === 'secondary')
  if (first) set.recording.allowTwo(first.name)
  return first
    ? asked(game, first, 'secondary/promote', { dr_operation_token: operator, force: true })
    : asked(game, others[0] as SetMember, 'primary/enable', {})
}

async function joined(game: Game, one: SetMember, primary: SetMember): Promise<string> {
  const token = await activationFrom(primary, game.newId())
  const call = (await one.record()).mode === 'disabled' ? 'secondary/enable' : 'secondary/update-primary'
  const answer = await asked(game, one, call, { dr_operation_token: game.operator, token })
  // the secondary's ID, which a disabled cluster has forgotten, or which only the primary has because its
  // answer was lost
  const [, id] = answer.match(/ is admitted here as (\w+), with other keys/) ?? []
  return id === undefined
    ? answer
    : `${answer}; ${await asked(game, primary, 'primary/revoke-secondary', { id })}`
}

async function asked(game: Game, one: SetMember, call: string, body: object): Promise<string> {
  const ask = (more: object = {}) => one.request('POST', `${R}/${call}`, { ...body, ...more })
  const first = await ask()
  // a retirement made the prepared token invalid, so the share holders make a new token
  const made = first.status === 403 ? await madeOperationToken(game, one) : undefined
  const { status, text } = made === undefined ? first : await ask({ dr_operation_token: made })
  return `${one.name} ${call}: ${status} ${text.slice(0, 300)}`
}

/**
 * Returns an operation token that the known shares make at a secondary, or undefined if none of them are
 * accepted.
 */
async function madeOperationToken({ set, shares: known }: Game, one: SetMember): Promise<string | undefined> {
  const ask = (method: string, path: string, body?: object) =>
    one.request(method, `${R}/secondary/generate-operation-token/${path}`, body, { token: '' })
  for (const { shares, threshold } of known.toReversed()) {
    // the service allows ten starts a minute, which is enough for people
    set.pass(10_000)
    await ask('DELETE', 'attempt')
    const { nonce, otp } = (await ask('PUT', 'attempt', {})).body
    for (const key of shares.slice(0, threshold)) {
      const { status, body } = await ask('PUT', 'update', { nonce, key })
      if (status !== 200) break
      if (body.encoded_token) return unmaskToken(body.encoded_token, otp)
    }
  }
  return undefined
}
