import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import type { Line } from '../replication/position.ts'
import type { Era } from './gen/link_pb.ts'

/** A value of ours as bytes, and back. @throws Error when reading what is no such value */
export interface Form<T> {
  write(value: T): Uint8Array
  read(bytes: Uint8Array): T
}

/** A form by a message of the interface. */
export const formOf = <D extends DescMessage, T>(
  schema: D,
  to: (value: T) => Parameters<typeof create<D>>[1],
  from: (message: MessageShape<D>) => T,
): Form<T> => ({
  write: value => toBinary(schema, create(schema, to(value))),
  read: bytes => from(fromBinary(schema, bytes)),
})

/** @throws Error for what is no safe integer */
export const safeInteger = (number: bigint): number => {
  const read = Number(number)
  if (!Number.isSafeInteger(read)) throw new Error('a number is too large')
  return read
}

const EPOCH = /^\d{6}\.[0-9a-f]{12}$/
/** @throws Error for what is no name of an epoch */
export const epochIn = (text: string): string => {
  if (!EPOCH.test(text)) throw new Error('an epoch is none')
  return text
}

const LONGEST_LINE = 12
export const eras = (line: Line) => line.map(([name, start]) => ({ epoch: name, start: BigInt(start) }))
/** @throws Error for what is no lineage */
export const lineOf = (given: readonly Era[]): Line => {
  if (given.length > LONGEST_LINE) throw new Error('a lineage is too long')
  return given.map(one => [epochIn(one.epoch), safeInteger(one.start)] as const)
}
