import type {
  AskAws,
  CallOutcome,
  FetchedItems,
  MountCall,
  RequestPhases,
  ResponseAuth,
} from '../../../shared/api/call.ts'
import type { ParameterFields } from '../../../shared/api/fields.ts'
import type { ItemsOfKeys, Ports } from '../../../shared/ports.ts'
import type { Item, Key } from '../../../shared/storage/kinds.ts'
import { portsWith } from '../../builders/ports.ts'

type Loose<T> = { [K in keyof T]?: K extends 'ports' ? object : unknown }

/** Returns a request as handlers see it, with the given parts. All other parts are empty. */
export const callWith = <F extends ParameterFields>(parts: Loose<MountCall<F>> = {}): MountCall<F> =>
  ({
    now: 1_000_000_000_000,
    pathParameters: {},
    parameters: {},
    raw: {},
    mounts: { mounts: [], removing: [] },
    request: {
      id: 'request-1',
      gatewayId: '',
      path: 'some/path',
      operation: 'write',
      source: '192.0.2.1',
      domain: 'abc.example.com',
      deadline: 0,
    },
    fetched: fetchedItems((parts.ports as Partial<Ports> | undefined)?.store),
    prepared: undefined,
    // an item is stored at the row's subject
    subjectKey: parts.subject,
    ...parts,
    ports: portsWith(parts.ports ?? {}),
  }) as unknown as MountCall<F>

/** Sends every question to AWS at once. */
export const askAlways: AskAws = question => question.ask()

/** Runs the phases of a request once, without reading items again. */
export async function outcomeOf<C, I, G, A>(
  phases: RequestPhases<C, I, G, A>,
  call: C,
): Promise<CallOutcome> {
  const identity = (await phases.identify?.(call, askAlways)) as I
  const gathered = await phases.gather(call, identity)
  return phases.decide(call, gathered, await phases.ask(call, gathered, askAlways))
}

/**
 * Returns the items of an attempt to serve a request, which are empty at first. `keep` adds items, as the
 * first read does.
 */
export function fetchedItems(store?: Pick<Ports['store'], 'read'>): FetchedItems {
  const kept = new Map<string, { key: Key; item: Item | undefined }>()
  const nameOf = ({ kind, pk, sk }: Key) => JSON.stringify([kind, pk, sk])
  return {
    keys: () => [...kept.values()].map(one => one.key),
    has: key => kept.has(nameOf(key)),
    get: (key => kept.get(nameOf(key))?.item) as FetchedItems['get'],
    read: async <const K extends readonly Key[]>(keys: K) => {
      const missing = keys.filter(key => !kept.has(nameOf(key)))
      const items = missing.length > 0 ? await store?.read(missing) : []
      for (const [index, key] of missing.entries()) kept.set(nameOf(key), { key, item: items?.[index] })
      return keys.map(key => kept.get(nameOf(key))?.item) as ItemsOfKeys<K>
    },
    keep: (key, item) => void kept.set(nameOf(key), { key, item }),
  }
}

/** Returns the data of an answer. */
export function dataIn<T = Record<string, unknown>>({ answer }: Pick<CallOutcome, 'answer'>): T {
  if (answer.kind !== 'data') throw new Error(`an answer of kind ${answer.kind}, which has no data`)
  return answer.data as T
}

/** Returns the `auth` object of an answer. */
export function authIn({ answer }: Pick<CallOutcome, 'answer'>): ResponseAuth {
  if (answer.kind !== 'auth') throw new Error(`an answer of kind ${answer.kind}, which has no auth`)
  return answer.auth
}
