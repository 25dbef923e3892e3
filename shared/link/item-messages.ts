import { itemKindSpec, type Key, type Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { defined } from '../values/defined.ts'
import {
  ItemsRequestSchema,
  ItemsResponseSchema,
  KeyringRequestSchema,
  KeyringResponseSchema,
  ScanRequestSchema,
  ScanResponseSchema,
  TreeRequestSchema,
  TreeResponseSchema,
} from '../wire/gen/link_pb.ts'
import { createMessageForm, decodeLineage, encodeLineage, parseMessageEpoch } from './forms.ts'
import type {
  ItemsAnswer,
  ItemsRequest,
  KeyringAnswer,
  ScanAnswer,
  ScanRequest,
  TreeAnswer,
  TreeRequest,
} from './source.ts'

/* Messages of the methods that read a primary's present state: items, hashes of the tree, the keyring. */

const json = (value: StoredItem | undefined): Uint8Array =>
  value ? Buffer.from(JSON.stringify(value)) : new Uint8Array()
const itemOf = (bytes: Buffer): StoredItem | undefined =>
  bytes.length === 0 ? undefined : (JSON.parse(bytes.toString('utf8')) as StoredItem)
const itemsOf = (all: readonly Buffer[]): StoredItem[] => all.map(itemOf).filter(item => item !== undefined)

function keyOf({ kind, pk, sk }: { kind: string; pk: string; sk: string }): Key {
  if (itemKindSpec(kind as Kind)?.table !== 'data')
    throw new Error('items of this kind are not sent over the link')
  return { kind: kind as Kind, pk, sk }
}

export const itemsMessageForms = {
  question: createMessageForm(
    ItemsRequestSchema,
    ({ keys }: ItemsRequest) => ({ keys: keys.map(({ kind, pk, sk }) => ({ kind, pk, sk })) }),
    ({ keys }): ItemsRequest => ({ keys: keys.map(keyOf) }),
  ),
  answer: createMessageForm(
    ItemsResponseSchema,
    ({ items, seq, lineage, epoch }: ItemsAnswer) => ({
      items: items.map(json),
      seq: BigInt(seq),
      lineage: encodeLineage(lineage),
      epoch,
    }),
    ({ items, seq, lineage, epoch }): ItemsAnswer => ({
      items: items.map(itemOf),
      seq,
      lineage: decodeLineage(lineage),
      epoch: parseMessageEpoch(epoch),
    }),
  ),
}

/** The maximum number of segments of a scan. */
const MOST_SEGMENTS = 64

export const scanMessageForms = {
  question: createMessageForm(
    ScanRequestSchema,
    ({ segment, segments, cursor }: ScanRequest) => defined({ segment, segments, cursor }),
    ({ segment, segments, cursor }): ScanRequest => {
      if (segments < 1 || segments > MOST_SEGMENTS || segment < 0 || segment >= segments)
        throw new Error('no such segment')
      return defined({ segment, segments, cursor })
    },
  ),
  answer: createMessageForm(
    ScanResponseSchema,
    ({ items, next, frontier }: ScanAnswer) =>
      defined({ items: items.map(json), frontier: BigInt(frontier), next }),
    ({ items, next, frontier }): ScanAnswer => defined({ items: itemsOf(items), frontier, next }),
  ),
}

const LEVELS: readonly string[] = ['root', 'page', 'bucket'] satisfies TreeRequest['level'][]

export const treeMessageForms = {
  question: createMessageForm(
    TreeRequestSchema,
    ({ level, page = '' }: TreeRequest) => ({ level, page }),
    ({ level, page }): TreeRequest => {
      if (!LEVELS.includes(level)) throw new Error('no such level')
      return defined({ level: level as TreeRequest['level'], page: page || undefined })
    },
  ),
  answer: createMessageForm(
    TreeResponseSchema,
    (answer: TreeAnswer) => answer,
    (answer): TreeAnswer => answer,
  ),
}

export const keyringMessageForms = {
  question: createMessageForm(
    KeyringRequestSchema,
    (one: { term: number }) => one,
    one => one,
  ),
  answer: createMessageForm(
    KeyringResponseSchema,
    (one: KeyringAnswer) => one,
    (one): KeyringAnswer => one,
  ),
}
