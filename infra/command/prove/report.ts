import type { PlacedRun } from './journal.ts'
import { formatUsd } from './prices.ts'
import type { Remains } from './teardown.ts'

/** The result of a row of the unverified claims. */
export interface ProvedRow {
  /** id of the row in docs/look-up/unverified.md */
  id: string
  result: 'held' | 'broken' | 'not asked'
  /** what was seen, or why the row was not asked */
  note: string
}

/** The report of a run. */
export interface ProveReport extends PlacedRun {
  /** version of the release, as its templates tell it */
  release: string
  /** why the run stopped before its end; absent: the run was complete */
  stopped?: string
  rows: readonly ProvedRow[]
  /** measurements by name, for example of logins */
  measured: Readonly<Record<string, string>>
  minutes: number
  /** price by the table, in USD */
  usd: number
  remains: readonly Remains[]
}

/** Returns the regions of a run for a sentence. */
export const formatRegions = ({
  region,
  peerRegion,
}: {
  region: string
  peerRegion?: string | undefined
}): string => (peerRegion === undefined ? `region ${region}` : `regions ${region} and ${peerRegion}`)

const ACCOUNT = /(?<!\d)\d{12}(?!\d)/g

/** Replaces account ids by asterisks, except for the last four digits. */
export const maskAccounts = (text: string): string =>
  text.replace(ACCOUNT, account => `********${account.slice(-4)}`)

/** Formats a report as JSON. */
export const formatReportJson = (report: ProveReport): string => `${JSON.stringify(report, null, 2)}\n`

/** Escapes a text for a cell of a Markdown table. */
const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim()

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(row => `| ${row.map(cell).join(' | ')} |`).join('\n')

/** Formats a report as Markdown. */
export function formatReport(report: ProveReport): string {
  const { run, release, region, peerRegion, account, stopped, rows, measured, minutes, usd, remains } = report
  const count = (result: ProvedRow['result']): number => rows.filter(row => row.result === result).length
  return `${[
    `# cloud-auth ${release}, proved in an account`,
    `Run ${run} in account ${account}, ${formatRegions({ region, peerRegion })}: ${minutes.toFixed(1)} minutes, about ${formatUsd(usd)} by list prices.`,
    ...(stopped === undefined ? [] : [`**The run stopped before its end:** ${cell(stopped)}`]),
    `${count('held')} claims held, ${count('broken')} broke, ${count('not asked')} were not asked.`,
    table(
      ['claim', 'result', 'seen'],
      rows.map(row => [`\`${row.id}\``, row.result, row.note]),
    ),
    '## Measured',
    table(['what', 'value'], Object.entries(measured)),
    '## Left in the account',
    remains.length === 0
      ? 'Nothing.'
      : table(
          ['what', 'why', 'until'],
          remains.map(one => [one.what, one.why, one.ends ?? 'somebody deletes it']),
        ),
  ].join('\n\n')}\n`
}
