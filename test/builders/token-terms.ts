import fc from 'fast-check'
import { boolField, durationField, intField, listField } from '../../shared/api/fields.ts'
import { type TokenTermOwner, tokenTermRows } from '../../shared/tokens/terms.ts'

type Row = (typeof tokenTermRows)[number][1]

const ITEMS = ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', 'dev', 'ops']
const TEXTS = ['', 'default', 'service', 'batch']

/**
 * Generates values that a request may send for a token term, by the kind of the term's field, and that pass
 * the field's own checks.
 */
function valuesOf({ kind, fault, store }: Row): fc.Arbitrary<unknown> {
  if (kind === boolField) return fc.boolean()
  if (kind === intField || kind === durationField) return fc.nat(1000)
  const usable = (value: unknown) => fault?.(store ? store(value) : value, 1000) === undefined
  if (kind === listField) return fc.subarray(ITEMS.filter(item => usable([item])))
  return fc.constantFrom(...TEXTS.filter(usable))
}

/** Generates requests with any token terms, by current and deprecated names. */
export const requestsOf = (taker: TokenTermOwner): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    Object.fromEntries(
      tokenTermRows.flatMap(([_, row]) => [
        ...(row.of.includes(taker) ? [[row.name, valuesOf(row)]] : []),
        ...(row.old?.of.includes(taker) ? [[row.old.name, valuesOf(row)]] : []),
      ]),
    ) as Record<string, fc.Arbitrary<unknown>>,
    { requiredKeys: [] },
  )
