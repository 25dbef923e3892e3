// Writes .build/permissions.md and docs/permissions.md from the templates: `npm run permissions`.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { newApp, unvalidated } from '../app.ts'
import { root } from '../checkout.ts'
import { makeNoBundles } from '../local/template/synth.ts'
import { readSettings } from '../settings.ts'
import { defineStacks } from '../stacks/cluster.ts'
import { permissionSections, permissionsPage, type Templates } from './permissions-tables.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-permissions-`)
try {
  makeNoBundles(`${folder}/bundles`)
  const app = newApp(`${folder}/out`, unvalidated)
  defineStacks(app, { settings: readSettings({ stage: 'test' }), bundles: `${folder}/bundles` })
  const templates: Templates = new Map(
    app.synth().stacks.map(one => [one.stackName, JSON.parse(readFileSync(one.templateFullPath, 'utf8'))]),
  )
  mkdirSync(`${root}.build`, { recursive: true })
  writeFileSync(`${root}.build/permissions.md`, permissionSections(templates))
  writeFileSync(`${root}docs/permissions.md`, permissionsPage(templates))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
