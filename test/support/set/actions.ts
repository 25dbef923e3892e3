import type { ClusterSet } from '../set.ts'
import type { SetMember } from './member.ts'

/** A run of random actions on a set of clusters. */
export interface Game {
  set: ClusterSet
  names: readonly string[]
  /** from 0 to below n */
  int(n: number): number
  chance(of: number): boolean
  pick<T>(list: readonly T[]): T
  /** clusters that write, as far as one can see from outside */
  primaries(): SetMember[]
  /** tokens that have been handed out and not given back */
  tokens: string[]
  /** names of policies: the first two share a bucket */
  policies: readonly string[]
}

/** Something that may happen. */
interface Action {
  /** how often it happens, against the others */
  weight: number
  act(game: Game): unknown
}

/** Whoever writes now is asked; a request that finds nobody is none. */
const atPrimary = (work: (primary: SetMember, game: Game) => Promise<unknown>) => (game: Game) => {
  const primaries = game.primaries()
  return primaries.length > 0 ? work(game.pick(primaries), game) : undefined
}

/** A trap somewhere in what one of the clusters does next. */
const trapped =
  (does: 'dies' | 'loses' | number) =>
  ({ set, names, int, pick }: Game) =>
    void set.trap({
      cluster: pick(names),
      at: 1 + int(30),
      when: pick(['before', 'after'] as const),
      does,
    })

/** What may happen, by name. A row is all that an action needs. */
export const gameActions: Readonly<Record<string, Action>> = {
  login: {
    weight: 30,
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
  crash: { weight: 5, act: trapped('dies') },
  lose: { weight: 4, act: trapped('loses') },
  freeze: { weight: 3, act: trapped(60_000) },
  cut: {
    weight: 2,
    act: ({ set, names, pick }) => {
      const [a, b] = [pick(names), pick(names)]
      if (a !== b) set.cut(a, b, pick(['both', 'there'] as const))
    },
  },
  heal: { weight: 3, act: ({ set, names, pick }) => set.heal(pick(names), pick(names)) },
}
