import type { TableNames } from '../../../shared/storage/requests.ts'
import type { WireItem } from '../tables/wire-values.ts'
import { type Changed, type Entry, follow, type Standing } from './history.ts'
import { type ItemChange, tableMirror } from './mirror.ts'
import type { Simulation } from './simulation.ts'
import type { TableWrite } from './transport.ts'

/** Requests whose success means that the cluster wrote something. */
const WRITING = /^(POST|PUT) \/(sys\/policies\/acl\/|auth\/token\/create)/

/**
 * Records the events in order. The order is the engine's order only when a simulation takes steps one after
 * the other.
 */
export function recorder({ clock, self }: Pick<Simulation, 'clock' | 'self'>) {
  const history: Entry[] = []
  const world = new Map<string, Standing>()
  const mirror = tableMirror()
  const places = new Map<string, { cluster: string; table: Changed['table'] }>()

  const changed = (changes: readonly ItemChange[]): Changed[] =>
    changes.map(({ table, ...rest }) => ({ ...rest, table: places.get(table)?.table ?? 'data' }))

  const note = (entry: Entry): void => {
    history.push(entry)
    follow(world, entry)
  }

  const common = (cluster: string) => ({ cluster, at: clock.now(), process: self().id })

  return {
    history,
    /** the present state of all clusters, read without the engine */
    world: world as ReadonlyMap<string, Readonly<Standing>>,
    /** watches the tables of a cluster, which may contain items already */
    watch: (
      cluster: string,
      tables: TableNames,
      found: Partial<Record<keyof TableNames, readonly WireItem[]>> = {},
    ) => {
      const names = Object.entries(tables) as [keyof TableNames, string][]
      for (const [table, name] of names) places.set(name, { cluster, table })
      const changes = names.flatMap(([table, name]) => mirror.found(name, found[table] ?? []))
      if (changes.length > 0) note({ ...common(cluster), what: 'found', changes: changed(changes) })
    },
    wrote: (write: TableWrite): void => {
      const { cluster = '' } = places.get(write.writes[0]?.table ?? '') ?? {}
      note({ ...common(cluster), what: 'written', changes: changed(mirror.apply(write)) })
    },
    answered: (cluster: string, request: string, status: number): void => {
      if (status < 300 && WRITING.test(request)) note({ ...common(cluster), what: 'acknowledged', request })
    },
    /** notes that two clusters may write at once from now on, because one of them is forced or silent */
    allowTwo: (cluster: string): void => note({ ...common(cluster), what: 'forced' }),
    /** notes that clusters have come to rest */
    rest: (clusters: readonly string[]): void => {
      const [first = ''] = clusters
      note({ ...common(first), what: 'rest', clusters })
    },
  }
}
