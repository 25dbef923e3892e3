import { answer, type Call, data, type Outcome } from '../../api/call.ts'
import { listFields, pageOf } from '../../api/listing.ts'
import type { DivergingKey, Report } from '../../model/secondary.ts'
import { type Item, key, partitions } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { printTime } from '../../values/time.ts'
import { divergingOf, isGivenUp, tagOf } from '../secondary/diverging.ts'

export const divergenceFields = listFields

/** Cells of an answer, and characters of all their changes: one cell comes in any case. */
const USUAL = 100
const MOST = 1000
const LARGEST = 1_000_000
/** Parts of reports that are read at once. */
const PARTS = 8

/** A commit that the set does not have. */
interface LostCell {
  /** part of a report, and the cell's place in it: what `after` takes */
  name: string
  /** where it stood in this cluster's journal */
  position: string
  commit: string
  time: string
  /** the last position that this cluster's journal had in common with the set's, and the set's epoch then */
  cut: number
  epoch: string
  /** items as they were stored, encrypted fields encrypted; without one: deleted, or left out because it was too large */
  changes: { kind: string; key: [pk: string, sk: string]; item?: unknown; deleted?: true }[]
  too_large?: true
}

/**
 * GET sys/replication/dr/divergence: what this cluster had committed and its set has not, from the reports that were
 * stored before it was taken back: by cell of the journal and key, in pages. And what does not stay in line with the
 * primary.
 */
export async function showDivergence(call: Call<typeof divergenceFields>): Promise<Outcome> {
  const { store } = call.ports
  const [lost, [record, diverging]] = await Promise.all([
    lostCells(call),
    store.read([key('cluster'), key('diverging')]),
  ])
  const { life, link } = record?.data ?? {}
  const keys = divergingOf(diverging, { life, link: link?.name })
  return answer(data({ ...lost, diverging: keys.map(shownKey) }))
}

/** An item that was fetched again and again; `given_up`: nothing waits for it any more. */
const shownKey = ({ kind, pk, sk, rounds, at }: DivergingKey) => ({
  ...{ kind, key: [pk, sk] as const, rounds, last_found: printTime(at) },
  given_up: isGivenUp({ rounds }),
  name: tagOf({ kind, pk, sk }),
})

/** Commits of the reports, a page of them; `next` is what `after` takes. */
async function lostCells(
  call: Call<typeof divergenceFields>,
): Promise<{ lost: readonly LostCell[]; next: string }> {
  const { after = '', limit = USUAL } = pageOf(call.given)
  const [part = '', place = ''] = after.split('#')
  const wanted = Math.min(limit, MOST)
  const { store } = call.ports
  const lost: LostCell[] = []
  const seen = new Set<string>()
  let size = 0
  let from = part
  let parts: readonly (Item<'report'> | undefined)[] =
    part === '' ? [] : await store.read([key('report', part)])
  for (;;) {
    for (const cell of parts.flatMap(one => (one ? cellsOf(one) : []))) {
      if (cell.name <= `${part}#${place}` || seen.has(cell.position)) continue
      size += JSON.stringify(cell.changes).length
      if (lost.length === wanted || (lost.length > 0 && size > LARGEST))
        return { lost, next: lost.at(-1)?.name ?? '' }
      seen.add(cell.position)
      lost.push(cell)
    }
    parts = await store.list(partitions('report'), defined({ after: from || undefined, limit: PARTS }))
    from = parts.at(-1)?.sk ?? from
    if (parts.length === 0) return { lost, next: '' }
  }
}

const PLACE_DIGITS = 6

const cellsOf = ({ sk, data: { cells, cut, epoch } }: Item<'report'>): LostCell[] =>
  cells.map(({ pos, id, at, changes, bare }, index) => ({
    name: `${sk}#${String(index).padStart(PLACE_DIGITS, '0')}`,
    ...{ position: pos, commit: id, time: printTime(at), cut, epoch },
    changes: changes.map(change => shownChange(change, bare)),
    ...(bare ? { too_large: true as const } : {}),
  }))

type LostChange = Report['cells'][number]['changes'][number]

const shownChange = ({ kind, pk, sk, item }: LostChange, bare: true | undefined) => ({
  kind,
  key: [pk, sk] as [string, string],
  ...(item === undefined ? (bare ? {} : { deleted: true as const }) : { item }),
})
