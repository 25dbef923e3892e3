import type { Call, Fetched } from '../../../shared/api/call.ts'
import type { Fields } from '../../../shared/api/fields.ts'
import type { Item, Key } from '../../../shared/storage/kinds.ts'

type Loose<T> = { [K in keyof T]?: unknown }

/** A request as handlers see it, with the parts that a test names; what it does not name is empty. */
export const callWith = <F extends Fields>(parts: Loose<Call<F>> = {}): Call<F> =>
  ({
    now: 1_000_000_000_000,
    params: {},
    given: {},
    raw: {},
    mounts: { mounts: [], removing: [] },
    ports: {},
    request: {
      id: 'request-1',
      gatewayId: '',
      path: 'some/path',
      operation: 'write',
      source: '192.0.2.1',
      domain: 'abc.example.com',
      deadline: 0,
    },
    fetched: { keys: () => [], has: () => false, get: () => undefined, keep: () => undefined },
    prepared: undefined,
    once: (_: string, work: () => Promise<unknown>) => work(),
    asked: () => false,
    // an item stands where the row’s subject says
    subjectKey: parts.subject,
    ...parts,
  }) as unknown as Call<F>

/** Items of an attempt, none to begin with. */
export function fetchedItems(): Fetched {
  const kept = new Map<string, { key: Key; item: Item | undefined }>()
  const nameOf = ({ kind, pk, sk }: Key) => JSON.stringify([kind, pk, sk])
  return {
    keys: () => [...kept.values()].map(one => one.key),
    has: key => kept.has(nameOf(key)),
    get: (key => kept.get(nameOf(key))?.item) as Fetched['get'],
    keep: (key, item) => void kept.set(nameOf(key), { key, item }),
  }
}
