import { readFileSync } from 'node:fs'
import { checkoutRoot } from '../../../infra/checkout.ts'

/**
 * A fault with its signs in docs/do/troubleshooting.md. A column is empty if the fault does not show in that
 * place.
 */
export interface FaultRow {
  fault: string
  alarm: string
  /** a field of the status, with dots for nested fields */
  field: string
  /** the value of `field` during the fault; empty: the page names no value */
  value: string
  /** a part of an answer or of a log line */
  text: string
}

/** Returns the cells of each row of the table that begins with the line `head`. */
export function rowsOf(page: string, head: string): string[][] {
  const [, table = ''] = page.split(`${head}\n`)
  const [rows = ''] = table.split('\n\n')
  return rows
    .split('\n')
    .slice(1)
    .filter(Boolean)
    .map(line =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map(cell => cell.trim()),
    )
}

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]*)`/g)].map(([, code = '']) => code)

const LINKED = /^\[([^\]]+)\]\(#[a-z-]+\)$/

/** Reads the faults of the troubleshooting page. @throws Error if a fault has no link to its entry */
export const faultRows = (): FaultRow[] =>
  rowsOf(
    readFileSync(`${checkoutRoot}docs/do/troubleshooting.md`, 'utf8'),
    '| fault | alarm | field of status | text |',
  ).map(([link = '', alarm = '', status = '', text = '']) => {
    const [, fault] = LINKED.exec(link) ?? []
    if (fault === undefined) throw new Error(`"${link}" is no link to an entry`)
    const [field = '', value = ''] = codesIn(status)
    return { fault, alarm: codesIn(alarm)[0] ?? '', field, value, text: codesIn(text)[0] ?? '' }
  })

/** Returns the row of a fault in the troubleshooting page. @throws Error if the page has no such fault */
export function faultRow(fault: string): FaultRow {
  const row = faultRows().find(one => one.fault === fault)
  if (!row) throw new Error(`docs/do/troubleshooting.md has no fault ${fault}`)
  return row
}
