// Adds the exports of the present templates to infra/checks/exports.json: `npm run exports`. It removes none, because
// a deployment that imports an export cannot be updated to a version without it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { root } from '../checkout.ts'
import { type Exports, exportedDeployments, exportsFile, exportsIn, withExports } from '../checks/exports.ts'
import { appOf } from '../checks/synthesise.ts'

const file = `${root}${exportsFile}`
let all = JSON.parse(readFileSync(file, 'utf8')) as Exports
for (const [front, settings] of Object.entries(exportedDeployments)) {
  const folder = mkdtempSync(`${tmpdir()}/cloud-auth-exports-`)
  try {
    const { stacks } = appOf(settings, folder).synth()
    for (const { stackName, template } of stacks)
      all = withExports(all, front, stackName, exportsIn(template as Parameters<typeof exportsIn>[0]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
process.stdout.write(`${exportsFile} lists the exports of each stack, by front.\n`)
