import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPrograms } from '../../../../infra/build/command.ts'
import { TEST_HUNG_MS } from '../../../support/programs/patience.ts'

const folder = mkdtempSync(`${tmpdir()}/command-`)
const file = `${folder}/cloud-auth.mjs`
afterAll(() => rmSync(folder, { recursive: true }))
beforeAll(() => buildPrograms(folder), TEST_HUNG_MS)

/** Runs the built command on this Node with a faked version. */
function runOn(version: string) {
  const preload = `${folder}/version.cjs`
  writeFileSync(preload, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', preload, file, '--help'], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test.each(['14.21.3', '18.20.4'])(
  'on Node %s the command names the required Node version, and does nothing',
  version => {
    expect(runOn(version)).toEqual({
      status: 1,
      stdout: '',
      stderr: `cloud-auth needs Node 20 or later, and this is Node ${version}: install a later Node from https://nodejs.org, or put it first in PATH\n`,
    })
  },
)

test.each(['20.0.0', '24.1.0'])('on Node %s the command runs', version => {
  expect(runOn(version)).toMatchObject({ status: 0, stdout: expect.stringContaining('cloud-auth COMMAND') })
})

test('Node 14.8 can parse and link the file: its only static import is `module`', () => {
  const text = readFileSync(file, 'utf8')
  const imports = [...text.matchAll(/(?:^|[;}])import\s*(?:[\w$*{][^;'"]*from\s*)?["']([^"']+)["']/gm)]
  expect(imports.map(([, name]) => name)).toEqual(['module'])
  expect(text).not.toMatch(/\?\?=|\|\|=|&&=|static\{/)
})
