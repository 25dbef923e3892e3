import type { JournalView, StoredPage } from '../../../journal/journal.ts'
import { defined } from '../../../values/defined.ts'
import { storedPageFrom } from './buckets.ts'
import { type Engine, nameOf } from './engine.ts'
import type { Raw } from './expressions.ts'
import { headFrom, headKey } from './head.ts'
import { itemsIn, tableKeysOf } from './reads.ts'

/** Head and roots as they stand, and items of other keys, in one batch read. */
export const journalView = ({ tables, get, seconds }: Engine): JournalView => ({
  look: async (treeId, keys = []) => {
    const inCluster = (pk: string, sk: string) => ({ table: tables.cluster, pk, sk })
    const head = inCluster(headKey.pk, headKey.sk)
    const names = treeId === undefined ? [] : ['replicated', 'local', 'whole']
    const roots = names.map(sk => inCluster(`t#${treeId}#root`, sk))
    const found = await get([head, ...roots, ...tableKeysOf(tables, keys)])
    const [replicated, local, whole] = roots.map(at => pageFrom(found.get(nameOf(at))))
    const item = found.get(nameOf(head))
    return defined({
      items: itemsIn(found, tables, keys, seconds()),
      head: item && headFrom(item),
      roots: replicated && local ? defined({ replicated, local, whole }) : undefined,
    })
  },
})

const pageFrom = (item: Raw | undefined): StoredPage | undefined => item && storedPageFrom(item)
