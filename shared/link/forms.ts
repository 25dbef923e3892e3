import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import {
  epochNumber,
  isEpoch,
  isEpochTooFarAhead,
  type JournalLineage,
  MAX_EPOCH_LEAD,
} from '../journal/position.ts'
import { MAX_KEYS_PER_MESSAGE } from './source.ts'
import { MAX_STATEMENT_CHAIN } from './statements.ts'

/** Converts values of messages to bytes and back. `read` throws an Error for malformed bytes. */
export interface MessageForm<T> {
  write(value: T): Uint8Array
  read(bytes: Uint8Array): T
}

/** Creates a form from a message of the link's interface. */
export const createMessageForm = <D extends DescMessage, T>(
  schema: D,
  to: (value: T) => Parameters<typeof create<D>>[1],
  from: (message: MessageFields<MessageShape<D>>) => T,
): MessageForm<T> => ({
  write: value => toBinary(schema, create(schema, to(value))),
  read: bytes => from(readFields(checkMessageBounds(schema, fromBinary(schema, bytes)))),
})

/** The fields of a message and of the messages in it, with integers as numbers and bytes as buffers. */
export type MessageFields<T> = T extends bigint
  ? number
  : T extends Uint8Array
    ? Buffer
    : T extends readonly (infer E)[]
      ? MessageFields<E>[]
      : T extends object
        ? { [K in keyof T as K extends `$${string}` ? never : K]: MessageFields<T[K]> }
        : T

/** @throws Error for a number that is not a safe integer */
function readFields<T>(value: T): MessageFields<T> {
  const read = (): unknown => {
    if (typeof value === 'bigint') return toSafeInteger(value)
    if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length)
    if (Array.isArray(value)) return value.map(readFields)
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).filter(([name]) => !name.startsWith('$'))
    return Object.fromEntries(fields.map(([name, one]) => [name, readFields(one)]))
  }
  return read() as MessageFields<T>
}

/** The bounds of a field: `bytes` of a text or of each element of a list, and `most` elements of a list. */
interface Bound {
  bytes?: number
  most?: number
}

const KEY = { bytes: 32 }
const SIGNATURE = { bytes: 64 }
const NAME = { bytes: 128 }
const ADDRESS = { bytes: 2048, most: 64 }
const SHORT = { bytes: 64 }
const LONGEST_LINEAGE = 12
/** A claimant sends one signer: the signer of the term with which it encrypts. */
const MOST_SIGNERS = 4
/** The limit is far more than one answer contains. */
const PAGE = { bytes: 8 * 2 ** 20, most: 200_000 }

/** Bounds of all fields of messages except numbers, by field name. A test fails for a message field without bounds. */
export const messageFieldBounds: Readonly<Record<string, Bound>> = {
  set: SHORT,
  cluster: SHORT,
  primary: SHORT,
  issuer: SHORT,
  subject: SHORT,
  caller: NAME,
  id: NAME,
  epoch: { bytes: 32 },
  lineage: { most: LONGEST_LINEAGE },
  lineageDigest: { bytes: 32 },
  nonce: { bytes: 16 },
  signingKey: KEY,
  exchangeKey: KEY,
  key: KEY,
  signature: SIGNATURE,
  proof: SIGNATURE,
  earlierProof: SIGNATURE,
  address: ADDRESS,
  addresses: ADDRESS,
  memberAddresses: ADDRESS,
  apiAddress: ADDRESS,
  token: { bytes: 8192 },
  sealed: { bytes: 2 ** 18 },
  keyring: { bytes: 2 ** 20 },
  version: SHORT,
  state: SHORT,
  term: SHORT,
  ownTerm: SHORT,
  level: SHORT,
  page: SHORT,
  root: NAME,
  kind: SHORT,
  pk: { bytes: 2048 },
  sk: { bytes: 1024 },
  chain: { most: MAX_STATEMENT_CHAIN },
  signers: { most: MOST_SIGNERS },
  keys: { most: MAX_KEYS_PER_MESSAGE },
  entries: { most: 100_000 },
  items: PAGE,
  hashes: PAGE,
  body: { bytes: 8 * 2 ** 20 },
}

/**
 * Checks that each field of a message is within its bounds, and returns the message.
 * @throws Error that names the field
 */
export function checkMessageBounds<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
): MessageShape<D> {
  const values = message as unknown as Record<string, unknown>
  for (const field of schema.fields) {
    const chosen = field.oneof && (values[field.oneof.localName] as { case?: string; value?: unknown })
    const value = chosen
      ? chosen.case === field.localName
        ? chosen.value
        : undefined
      : values[field.localName]
    const { bytes = 0, most = 0 } = messageFieldBounds[field.localName] ?? {}
    const all = Array.isArray(value) ? value : [value]
    if (Array.isArray(value) && all.length > most)
      throw new Error(`${field.name} has more than ${most} elements`)
    for (const one of all) {
      if (sizeOf(one) > bytes) throw new Error(`${field.name} is longer than ${bytes} bytes`)
      if (field.message && one !== undefined)
        checkMessageBounds(field.message, one as MessageShape<DescMessage>)
    }
  }
  return message
}

const sizeOf = (value: unknown): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : value instanceof Uint8Array ? value.length : 0

const toSafeInteger = (number: bigint): number => {
  const read = Number(number)
  if (!Number.isSafeInteger(read)) throw new Error('a number is larger than 2^53 - 1')
  return read
}

/**
 * Checks the name of an epoch.
 * @throws Error for any other text
 */
export const parseMessageEpoch = (text: string): string => {
  if (!isEpoch(text)) throw new Error('an epoch has a malformed name')
  return text
}

export const encodeLineage = (lineage: JournalLineage) =>
  lineage.map(([name, start]) => ({ epoch: name, start: BigInt(start) }))
/**
 * Decodes a lineage.
 * @throws Error for a malformed lineage
 */
export const decodeLineage = (given: readonly { epoch: string; start: number }[]): JournalLineage => {
  const line = given.map(({ epoch, start }) => [parseMessageEpoch(epoch), start] as const)
  if (
    line.some(
      ([epoch], index) => index > 0 && isEpochTooFarAhead(epoch, epochNumber(line[index - 1]?.[0] ?? '')),
    )
  )
    throw new Error(`a lineage skips more than ${MAX_EPOCH_LEAD} epochs`)
  return line
}
