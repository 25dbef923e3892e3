// Adds the exports of the present templates to test/support/checks/exports.json: `npm run exports`. The
// script removes no exports, because a deployment that imports an export cannot be updated to a version
// without the export.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { createUndeployedApp } from '../../../infra/docs/synthesise.ts'
import { addExports, type Exports, exportedDeployments, exportsFile, listExports } from './exports.ts'

const file = `${checkoutRoot}${exportsFile}`
let all = JSON.parse(readFileSync(file, 'utf8')) as Exports
for (const [front, settings] of Object.entries(exportedDeployments)) {
  const folder = mkdtempSync(`${tmpdir()}/cloud-auth-exports-`)
  try {
    const { stacks } = createUndeployedApp(settings, folder).synth()
    for (const { stackName, template } of stacks)
      all = addExports(all, front, stackName, listExports(template as Parameters<typeof listExports>[0]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
process.stdout.write(`${exportsFile} lists the exports of each stack, by front.\n`)
