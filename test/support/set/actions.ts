import { adversities } from './adversity.ts'
import type { SetMember } from './member.ts'
import type { ClusterSet } from './set.ts'
import { type Forgery, type KnownShares, thefts } from './thefts.ts'

/** The path of calls that change roles. */
const R = '/sys/replication/dr'

/** A game: a run of random actions on a set of clusters. */
export interface Game {
  set: ClusterSet
  names: readonly string[]
  /** returns a random integer from 0 to below n */
  int(n: number): number
  chance(of: number): boolean
  pick<T>(list: readonly T[]): T
  /** clusters that write, as far as a client can see */
  primaries(): SetMember[]
  /** all clusters that do not write: secondaries and stopped clusters */
  others(): SetMember[]
  /** a token that is valid on every cluster for the operations on secondaries */
  operator: string
  /** a new name for a secondary */
  newId(): string
  /** tokens that are in use */
  tokens: string[]
  /** names of policies: the first two share a bucket */
  policies: readonly string[]
  /** batch tokens that thieves have made */
  forgeries: Forgery[]
  /** recovery shares in use, oldest first */
  shares: KnownShares[]
  /** violations that the game has found */
  faults: string[]
}

/** A possible action of a game. */
export interface Action {
  /** the action's frequency, relative to other actions */
  weight: number
  act(game: Game): unknown
}

/** Makes an action that calls a random writing cluster. The action does nothing if no cluster writes. */
const atPrimary = (work: (primary: SetMember, game: Game) => Promise<unknown>) => (game: Game) => {
  const primaries = game.primaries()
  return primaries.length > 0 ? work(game.pick(primaries), game) : undefined
}

/** Makes an action that requests a role change from a random secondary. */
const atSecondary = (call: string, given: (game: Game) => object | Promise<object>) => async (game: Game) => {
  const secondaries = game.others()
  if (secondaries.length === 0) return
  const secondary = game.pick(secondaries)
  const body = { dr_operation_token: game.operator, ...(await given(game)) }
  await secondary.request('POST', `${R}/secondary/${call}`, body)
}

/** Returns an activation token that a primary made, if there is a primary. */
export async function activationFrom(
  primary: SetMember | undefined,
  id: string,
): Promise<string | undefined> {
  const reply = await primary?.request('POST', `${R}/primary/secondary-token`, { id })
  return reply?.status === 200 ? reply.body.wrap_info.token : undefined
}

/** Sets a trap at a random later step of a cluster. */
const trapped =
  (does: 'dies' | 'loses' | number) =>
  ({ set, names, int, pick }: Game) =>
    void set.trap({
      cluster: pick(names),
      at: 1 + int(30),
      when: pick(['before', 'after'] as const),
      does,
    })

/** The possible actions of a game, by name. To add an action, add a row. */
export const gameActions: Readonly<Record<string, Action>> = {
  ...adversities,
  ...thefts,
  login: {
    weight: 24,
    act: atPrimary(async (primary, { tokens, int }) => {
      const { status, body } = await primary.request('POST', '/auth/token/create', { ttl: `${1 + int(60)}m` })
      if (status === 200) tokens.push(body.auth.client_token)
    }),
  },
  revokeToken: {
    weight: 8,
    act: atPrimary(async (primary, { tokens, int }) => {
      const [token] = tokens.splice(int(tokens.length), 1)
      if (token) await primary.request('POST', '/auth/token/revoke', { token })
    }),
  },
  configure: {
    weight: 20,
    act: atPrimary((primary, { policies, pick, int }) =>
      primary.request('POST', `/sys/policies/acl/${pick(policies)}`, {
        policy: `path "p${int(1_000_000)}" { capabilities = ["read"] }`,
      }),
    ),
  },
  deconfigure: {
    weight: 6,
    act: atPrimary((primary, { policies, pick }) =>
      primary.request('DELETE', `/sys/policies/acl/${pick(policies)}`),
    ),
  },
  tidy: { weight: 1, act: atPrimary(primary => primary.request('POST', '/auth/token/tidy', {})) },
  crash: { weight: 8, act: trapped('dies') },
  lose: { weight: 4, act: trapped('loses') },
  freeze: { weight: 6, act: game => trapped(game.pick([1000, 10_000, 60_000]))(game) },
  cut: {
    weight: 2,
    act: ({ set, names, pick }) => {
      const [a, b] = [pick(names), pick(names)]
      if (a === b) return
      set.recording.allowTwo(a)
      set.cut(a, b, pick(['both', 'there'] as const))
    },
  },
  heal: { weight: 3, act: ({ set, names, pick }) => set.heal(pick(names), pick(names)) },
  demote: { weight: 2, act: atPrimary(primary => primary.request('POST', `${R}/primary/demote`)) },
  promote: { weight: 8, act: atSecondary('promote', () => ({})) },
  force: {
    weight: 4,
    act: async game => {
      game.set.recording.allowTwo(game.names[0] ?? '')
      await atSecondary('promote', () => ({ force: true }))(game)
    },
  },
  follow: {
    weight: 7,
    act: atSecondary('update-primary', async game => {
      const token = await activationFrom(game.primaries()[0], game.newId())
      return token === undefined ? { update_primary_addrs: [] } : { token }
    }),
  },
  followNobody: { weight: 1, act: atSecondary('update-primary', () => ({ token: '' })) },
  followByAddress: {
    weight: 2,
    act: atSecondary('update-primary', ({ set }) => ({
      update_primary_addrs: set.members.map(({ address }) => address),
    })),
  },
  revokeSecondary: {
    weight: 1,
    act: atPrimary((primary, { pick, names, set }) =>
      primary.request('POST', `${R}/primary/revoke-secondary`, {
        id: set.recording.world.get(pick(names))?.record?.link?.secondaryId ?? 'west',
      }),
    ),
  },
  disable: {
    weight: 1,
    act: game =>
      game.chance(0.5)
        ? atPrimary(primary => primary.request('POST', `${R}/primary/disable`))(game)
        : atSecondary('disable', () => ({}))(game),
  },
  reindex: { weight: 1, act: atSecondary('reindex', ({ chance }) => ({ diff: chance(0.5) })) },
  kill: { weight: 1, act: ({ set, names, pick }) => set.kill(pick(names)) },
  slow: {
    weight: 1,
    act: ({ set, names, pick }) =>
      set.net.answersSo(
        pick(names),
        pick(['never', { late: 2400 }, { late: 5000 }, { late: 9000 }, { front: 'HTTP 503', late: 100 }]),
      ),
  },
  quick: { weight: 2, act: ({ set, names, pick }) => set.net.answersSo(pick(names)) },
}
