// Writes the tables of docs/look-up/monitoring.md from the tables of metrics and alarms in code: `npm run
// monitoring`.
import { readFileSync, writeFileSync } from 'node:fs'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { renderMonitoringTables } from './monitoring-tables.ts'

const page = `${checkoutRoot}docs/look-up/monitoring.md`
let text = readFileSync(page, 'utf8')
for (const [head, table] of Object.entries(renderMonitoringTables())) {
  const from = text.indexOf(head)
  if (from < 0) throw new Error(`the page has no table "${head}"`)
  const end = text.indexOf('\n\n', from)
  text = text.slice(0, from) + table + text.slice(end)
}
writeFileSync(page, text)
