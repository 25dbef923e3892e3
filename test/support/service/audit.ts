import { readFileSync } from 'node:fs'
import { cluster } from './cluster.ts'

/** An entry of the audit log. */
export interface AuditEntry {
  audit: 'request' | 'response'
  // biome-ignore lint/suspicious/noExplicitAny: entries are what the tests look into
  request: any
  // biome-ignore lint/suspicious/noExplicitAny: entries are what the tests look into
  [other: string]: any
}

/** Returns the audit log of the cluster as text. */
export const auditText = (directory = cluster.directory): string =>
  readFileSync(`${directory}/audit.log`, 'utf8')

/** Returns all entries of the audit log. */
export const auditEntries = (): AuditEntry[] => entriesIn(auditText().split('\n'))

const entriesIn = (lines: readonly string[]): AuditEntry[] =>
  lines.filter(line => line !== '').map(line => JSON.parse(line) as AuditEntry)

/** Returns the audit entries whose path has this beginning. */
export const auditOf = (path: string): AuditEntry[] =>
  entriesIn(
    auditText()
      .split('\n')
      .filter(line => line.includes(path.slice(1))),
  ).filter(entry => String(entry.request?.path).startsWith(path.slice(1)))
