import type { WireItem } from './wire-values.ts'

/** A table in memory. */
export type MemoryTable = ReturnType<typeof memoryTable>

/** Items of a partition, by sort key. */
type Partition = Map<string, WireItem>

/**
 * Stores items by partition key and sort key. Also indexes items by each attribute that a request has looked
 * for, so that reading an index takes time only for the found items.
 */
export function memoryTable() {
  const partitions = new Map<string, Partition>()
  const indexes = new Map<string, Map<string, Partition>>()

  const items = (): WireItem[] => [...partitions.values()].flatMap(partition => [...partition.values()])

  function indexOf(name: string): Map<string, Partition> {
    const known = indexes.get(name)
    if (known) return known
    const index = new Map<string, Partition>()
    indexes.set(name, index)
    for (const item of items()) add(index, item[name]?.S, placeOf(item), item)
    return index
  }

  function remove(place: WireItem): void {
    const partition = partitions.get(textOf(place['pk']))
    const item = partition?.get(textOf(place['sk']))
    if (!item) return
    partition?.delete(textOf(place['sk']))
    for (const [name, index] of indexes) index.get(textOf(item[name]))?.delete(placeOf(item))
  }

  return {
    items,
    remove,
    at: (place: WireItem): WireItem | undefined =>
      partitions.get(textOf(place['pk']))?.get(textOf(place['sk'])),
    put: (item: WireItem): void => {
      remove(item)
      add(partitions, textOf(item['pk']), textOf(item['sk']), item)
      for (const [name, index] of indexes) add(index, item[name]?.S, placeOf(item), item)
    },
    /** Returns the items with a text as the value of an attribute. */
    partition: (name: string, value: string): WireItem[] => [
      ...((name === 'pk' ? partitions : indexOf(name)).get(value)?.values() ?? []),
    ],
    /** Returns partition keys from a key on, in order. */
    partitionsFrom: (pk: string): string[] => [...partitions.keys()].filter(key => key >= pk).sort(),
  }
}

const textOf = (attribute: WireItem[string] | undefined): string => attribute?.S ?? ''
const placeOf = (item: WireItem): string => JSON.stringify([textOf(item['pk']), textOf(item['sk'])])

/** Adds an item to an index. An item without the index's attribute is not in the index. */
function add(to: Map<string, Partition>, value: string | undefined, name: string, item: WireItem): void {
  if (value === undefined) return
  const partition: Partition = to.get(value) ?? new Map()
  to.set(value, partition)
  partition.set(name, item)
}
