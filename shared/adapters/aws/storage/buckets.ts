import { toDrop } from '../../../journal/generation.ts'
import type { Element, StoredBucket, StoredPage } from '../../../journal/journal.ts'
import { liveSums, sumAttributes, sumsFrom } from '../../../journal/tree.ts'
import { defined } from '../../../values/defined.ts'
import type { Raw } from './expressions.ts'
import { termsOf } from './expressions.ts'

/** @param now epoch seconds: where sums of a generation are added, sums long forgotten are dropped */
export function bucketUpdate({ bucket, sums, mark }: Extract<Element, { bucket: unknown }>, now: number) {
  const all = termsOf()
  const { name, value } = all
  const adds = sumAttributes(sums).map(([attribute, by]) => `${name(attribute)} ${value(by)}`)
  const grows = [...sums.keys()].some(slot => slot !== 'p')
  const drops = (grows ? toDrop(now, turnOf(mark)) : [])
    .map(generation => `g${generation}`)
    // a generation may have been forgotten since the sums were made
    .filter(slot => !sums.has(slot))
    .flatMap(slot => sumAttributes(new Map([[slot, [0n, 0n, 0n]]])).map(([attribute]) => attribute))
  const set = mark === undefined ? '' : `SET ${name('mark')} = ${value(mark)} `
  const add = adds.length === 0 ? '' : `ADD ${adds.join()} `
  const below =
    mark === undefined
      ? {}
      : { ConditionExpression: `attribute_not_exists(${name('mark')}) OR ${name('mark')} < ${value(mark)}` }
  const remove = drops.length === 0 ? '' : `REMOVE ${drops.join()}`
  return { Key: bucket, UpdateExpression: `${set}${add}${remove}`.trim(), ...below, ...all.parts() }
}

/** Marks end in the number of their position. */
const turnOf = (mark = '0'): number => Number(mark.slice(-3))

/** Sets the sums of a bucket, but for those of ended generations, if they still are as they were read. */
export function bucketRenewal({ renew, sums, was }: Extract<Element, { renew: unknown }>, now: number) {
  const all = termsOf()
  const { name, value } = all
  const before = new Map(sumAttributes(liveSums(was?.sums ?? new Map(), now)))
  const after = new Map(sumAttributes(liveSums(sums, now)))
  const test = (attribute: string, found: unknown): string => {
    const absent = `attribute_not_exists(${name(attribute)})`
    if (found === undefined) return absent
    const equal = `${name(attribute)} = ${value(found)}`
    return found === 0n ? `(${absent} OR ${equal})` : equal
  }
  const tests = [
    test('mark', was?.mark),
    ...[...new Set([...before.keys(), ...after.keys()])].map(one => test(one, before.get(one))),
  ]
  const set = [...after].map(([attribute, part]) => `${name(attribute)} = ${value(part)}`)
  const remove = [...before.keys()].filter(one => !after.has(one)).map(name)
  const UpdateExpression = [
    set.length > 0 ? `SET ${set.join()}` : '',
    remove.length > 0 ? `REMOVE ${remove.join()}` : '',
  ]
    .join(' ')
    .trim()
  return { Key: renew, ConditionExpression: tests.join(' AND '), UpdateExpression, ...all.parts() }
}

/** The hash of a page as it stands in the table. */
export const storedPageFrom = ({ hash, asOf, gen, at, pages }: Raw): StoredPage =>
  defined({
    hash: String(hash),
    asOf: String(asOf),
    gen: gen as number | undefined,
    at: at as number | undefined,
    pages: pages as number | undefined,
  })

/** The sums of a bucket as they stand in the table; numbers are given as `bigint`. */
export function bucketFrom(item: Raw): StoredBucket {
  const mark = item['mark'] as string | undefined
  return defined({ mark, sums: sumsFrom(item as Record<string, bigint>) })
}
