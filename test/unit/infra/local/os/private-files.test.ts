import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../../infra/checkout.ts'

/**
 * Returns the modes of the files that a process with umask 000 creates after it has created a cluster's directory.
 */
function modesAfter(directory: string): Record<string, string> {
  const code = `
    const { makeClusterDirectory, clusterDirectory, writeFileAtomically } = await import('${checkoutRoot}infra/local/os/cluster-file.ts')
    const { takeLock } = await import('${checkoutRoot}infra/local/os/lock.ts')
    const { appendFileSync } = await import('node:fs')
    const { spawnSync } = await import('node:child_process')
    const { directory } = makeClusterDirectory({ cluster: 'east', memory: false })
    await takeLock(directory, 'cluster', () => new Error('taken'))
    appendFileSync(directory + '/engine.log', '')
    spawnSync('touch', [directory + '/by-a-child.db'])
    writeFileAtomically(directory + '/cluster.json', '{}')
  `
  execFileSync('bash', ['-c', 'umask 000; exec "$0" --input-type=module -e "$1"', process.execPath, code], {
    env: { ...process.env, CLOUD_AUTH_STATE: directory },
  })
  const names = ['', '/cluster.lock', '/cluster.holder', '/engine.log', '/by-a-child.db', '/cluster.json']
  return Object.fromEntries(
    names.map(name => [name, (statSync(`${directory}/east${name}`).mode & 0o777).toString(8)]),
  )
}

function stateDirectory(): string {
  const directory = mkdtempSync(`${tmpdir()}/state-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

const CLOSED = {
  '': '700',
  '/cluster.lock': '600',
  '/cluster.holder': '600',
  '/engine.log': '600',
  '/by-a-child.db': '600',
  '/cluster.json': '600',
}

test('a host and its children create files that only the owner can read, with any umask', () => {
  expect(modesAfter(stateDirectory())).toEqual(CLOSED)
})

test('the files of an open state directory of an earlier version are restricted', () => {
  const state = stateDirectory()
  mkdirSync(`${state}/east`)
  chmodSync(`${state}/east`, 0o755)
  writeFileSync(`${state}/east/engine.log`, '')
  chmodSync(`${state}/east/engine.log`, 0o644)
  expect(modesAfter(state)).toEqual(CLOSED)
})
