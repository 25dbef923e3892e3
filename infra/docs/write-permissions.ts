// Writes .build/permissions.md and docs/permissions.md from the templates: `npm run permissions`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { checkoutRoot } from '../checkout.ts'
import { renderPermissionSections, renderPermissionsPage, type StackTemplates } from './permissions-tables.ts'
import { createUndeployedApp } from './synthesise.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-permissions-`)
try {
  const { stacks } = createUndeployedApp({ stage: 'test', instanceEvents: {} }, folder).synth()
  const templates: StackTemplates = new Map(stacks.map(({ stackName, template }) => [stackName, template]))
  mkdirSync(`${checkoutRoot}.build`, { recursive: true })
  writeFileSync(`${checkoutRoot}.build/permissions.md`, renderPermissionSections(templates))
  writeFileSync(`${checkoutRoot}docs/permissions.md`, renderPermissionsPage(templates))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
