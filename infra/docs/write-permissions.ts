// Writes .build/permissions.md and docs/permissions.md from the templates: `npm run permissions`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { root } from '../checkout.ts'
import { renderPermissionSections, renderPermissionsPage, type Templates } from './permissions-tables.ts'
import { createUndeployedApp } from './synthesise.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-permissions-`)
try {
  const { stacks } = createUndeployedApp({ stage: 'test' }, folder).synth()
  const templates: Templates = new Map(stacks.map(({ stackName, template }) => [stackName, template]))
  mkdirSync(`${root}.build`, { recursive: true })
  writeFileSync(`${root}.build/permissions.md`, renderPermissionSections(templates))
  writeFileSync(`${root}docs/permissions.md`, renderPermissionsPage(templates))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
