import type { AccessEntry } from '../../../shared/model/access-entry.ts'
import { createItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { Action, Game } from './actions.ts'

const R = '/sys/replication/dr'
const MOUNT = '/auth/cloud'
const SECOND = 1000
/** The clock difference from which clusters refuse another cluster's calls. */
const FIVE_MINUTES = 300 * SECOND

/** Cuts a cluster off from all other clusters, in both directions. */
function isolate({ set, names }: Game, name: string): void {
  set.recording.allowTwo(name)
  for (const other of names) if (other !== name) set.cut(name, other)
}

/** Faults outside of processes and network, and rare operations, by name. To add a fault, add a row. */
export const adversities: Readonly<Record<string, Action>> = {
  clock: {
    weight: 2,
    act: ({ set, names, pick, int, chance }) => {
      // sets a cluster's clock off by five minutes, a second less or more, or by ten minutes, after which a
      // cluster accepts only a fence
      const off = FIVE_MINUTES + (int(3) - 1) * SECOND
      set.at(pick(names)).setClock(chance(0.3) ? 0 : pick([off, -off, 2 * FIVE_MINUTES]))
    },
  },
  silentMinute: {
    weight: 1,
    act: async game => {
      isolate(game, game.pick(game.names))
      await game.set.passAsking(61 * SECOND)
    },
  },
  drillClone: {
    weight: 2,
    act: async game => {
      const [primary, clone] = [game.primaries()[0], game.pick(game.others())]
      if (!primary || !clone) return
      const { cluster, link } = await clone.record().then(({ id, link }) => ({ cluster: id, link }))
      for (const id of [link?.secondaryId, cluster])
        await primary.request('POST', `${R}/primary/revoke-secondary`, { id })
      game.set.recording.allowTwo(clone.name)
      const forced = { dr_operation_token: game.operator, force: true }
      await clone.request('POST', `${R}/secondary/promote`, forced)
    },
  },
  rotate: {
    weight: 3,
    act: async ({ primaries, pick, int }) => {
      const all = primaries()
      if (all.length === 0) return
      const primary = pick(all)
      await primary.request('POST', '/sys/rotate', {})
      // a secret that is encrypted with the newest key term
      const secret = { access_key: 'AKIAIOSFODNN7EXAMPLE', secret_key: `secret-${int(1_000_000)}` }
      await primary.request('POST', `${MOUNT}/config/client`, secret)
    },
  },
  fullDisk: {
    weight: 2,
    act: ({ set, names, pick, int }) => set.fillDisk(pick(names), 500 + int(20_000)),
  },
  lists: {
    weight: 4,
    act: async ({ primaries, pick, int }) => {
      const all = primaries()
      if (all.length === 0) return
      const primary = pick(all)
      const [name, now] = [`i-${int(8)}`, primary.ports.clock.now()]
      const { body } = await primary.request('GET', '/sys/auth')
      const accessor = body.data?.['cloud/']?.accessor
      if (accessor === undefined) return
      const entry: AccessEntry = {
        role: 'r',
        disallowReauthentication: true,
        pendingTime: '',
        createdAt: now,
        updatedAt: now,
        expiresAt: now + 3600 * SECOND,
      }
      const as = { record: await primary.record(), readAt: now }
      // writes an item as a login and as the denial of a role tag do
      const { createdAt, expiresAt } = entry
      await primary.ports.store
        .commit(
          [
            createItem(key('access', accessor, name), entry),
            createItem(key('deny', accessor, name), { createdAt, expiresAt }),
          ],
          as,
        )
        .catch(() => undefined)
      await primary.request('DELETE', `${MOUNT}/identity-accesslist/${name}`)
      await primary.request('DELETE', `${MOUNT}/roletag-denylist/${name}`)
    },
  },
}
