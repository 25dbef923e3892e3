// Writes .build/permissions.md and docs/permissions.md from the templates: `npm run permissions`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { root } from '../checkout.ts'
import { appOf } from '../checks/synthesise.ts'
import { permissionSections, permissionsPage, type Templates } from './permissions-tables.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-permissions-`)
try {
  const { stacks } = appOf({ stage: 'test' }, folder).synth()
  const templates: Templates = new Map(stacks.map(({ stackName, template }) => [stackName, template]))
  mkdirSync(`${root}.build`, { recursive: true })
  writeFileSync(`${root}.build/permissions.md`, permissionSections(templates))
  writeFileSync(`${root}docs/permissions.md`, permissionsPage(templates))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
