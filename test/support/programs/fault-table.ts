import { readFileSync } from 'node:fs'
import { root } from '../../../infra/checkout.ts'

/** What docs/do/troubleshooting.md says tells a fault apart. Empty: nothing of that kind does. */
export interface FaultRow {
  fault: string
  alarm: string
  /** of status, dots between what stands in what; `value`: that it has then, empty: not said */
  field: string
  value: string
  /** that an answer or a log line holds */
  text: string
  /** link to what to do */
  entry: string
}

/** Cells of the rows of a table, by its first line. */
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

/** The faults of the page. */
export const faultRows = (): FaultRow[] =>
  rowsOf(
    readFileSync(`${root}docs/do/troubleshooting.md`, 'utf8'),
    '| fault | alarm | field of status | text | entry |',
  ).map(([fault = '', alarm = '', told = '', said = '', entry = '']) => {
    const [field = '', value = ''] = codesIn(told)
    return { fault, alarm: codesIn(alarm)[0] ?? '', field, value, text: codesIn(said)[0] ?? '', entry }
  })

/** The row of a fault. @throws Error where the page has none */
export function faultRow(fault: string): FaultRow {
  const found = faultRows().find(one => one.fault === fault)
  if (!found) throw new Error(`docs/do/troubleshooting.md has no fault ${fault}`)
  return found
}
