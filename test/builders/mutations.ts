import fc from 'fast-check'

/** Maximum number of bytes of a mutated message. */
export const LONGEST = 700_000

/** A change of the bytes of a message. */
type Mutation = (bytes: Buffer) => Buffer
const at = (bytes: Buffer, part: number) => Math.floor(part * bytes.length)
const part = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  // a changed bit, a cut, inserted bytes, a part that is left out, a part that is repeated
  fc.tuple(part, fc.nat(7)).map(
    ([where, bit]): Mutation =>
      bytes => {
        const copy = Buffer.from(bytes)
        const place = at(copy, where)
        if (copy.length > 0) copy.writeUInt8((copy[place] ?? 0) ^ (1 << bit), place)
        return copy
      },
  ),
  part.map(
    (where): Mutation =>
      bytes =>
        bytes.subarray(0, at(bytes, where)),
  ),
  fc.tuple(part, fc.uint8Array({ maxLength: 40 })).map(
    ([where, added]): Mutation =>
      bytes =>
        Buffer.concat([bytes.subarray(0, at(bytes, where)), added, bytes.subarray(at(bytes, where))]),
  ),
  fc.tuple(part, part).map(
    ([from, length]): Mutation =>
      bytes =>
        Buffer.concat([bytes.subarray(0, at(bytes, from)), bytes.subarray(at(bytes, from + length))]),
  ),
  fc.nat(3000).map(
    (times): Mutation =>
      bytes => {
        // makes no more copies than are kept, because three repetitions of three thousand would be gigabytes
        const length = Math.min(times, Math.ceil(LONGEST / Math.max(1, bytes.length)))
        return Buffer.concat(Array.from({ length }, () => bytes))
      },
  ),
)

/** Generates one to three changes, one after the other. */
export const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 })
/** Returns the bytes after all of these changes. */
export const mutated = (bytes: Uint8Array, all: readonly Mutation[]): Buffer =>
  all.reduce<Buffer>((now, mutate) => mutate(now).subarray(0, LONGEST), Buffer.from(bytes))
