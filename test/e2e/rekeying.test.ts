import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { cleanUp, startIn } from '../support/programs/npm-start.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { rekeyingBlocks } from '../support/programs/rekeying.ts'
import { openShell, type Pasted } from '../support/programs/shell.ts'
import { call } from '../support/service/api.ts'

// Operators rekey with the commands of the page. Each block runs in a new shell, which shares only files with
// earlier shells. One standalone cluster stands for all clusters of the pages.

const checkout = mkdtempSync(`${tmpdir()}/cloud-auth-`)
const STATE = `${checkout}/.local`
mkdirSync(STATE)
symlinkSync('east', `${STATE}/west`)
afterAll(() => {
  cleanUp()
  rmSync(checkout, { recursive: true, force: true })
})

const file = (): ClusterStateFile =>
  JSON.parse(readFileSync(`${STATE}/east/cluster.json`, 'utf8')) as ClusterStateFile
const NEW_SHARES = `${STATE}/new-shares.json`

/** Pastes a block into a shell that ends after the block. */
async function paste(block: string, { before = '', typed = '' } = {}): Promise<Pasted> {
  const shell = openShell({ cwd: checkout })
  try {
    for (const heading of ['The shell', 'On a laptop', 'The prepared token'])
      for (const one of blocksOf('README', heading)) await shell.paste(one)
    if (before) await shell.paste(before)
    return await shell.attempt(block, typed)
  } finally {
    shell.close()
  }
}

/** Reports whether three shares generate a root token. */
async function makeRoot(shares: readonly string[]): Promise<boolean> {
  const url = file().base_url
  const at = '/sys/generate-root'
  const { nonce } = (await call(url, 'PUT', `${at}/attempt`, {})).body
  let last: { status: number; body: { complete?: boolean } } | undefined
  for (const key of shares.slice(0, 3)) last = await call(url, 'PUT', `${at}/update`, { key, nonce })
  await call(url, 'DELETE', `${at}/attempt`, undefined, { token: file().root_token })
  return last?.status === 200 && last.body.complete === true
}

test("the runbook's shell blocks for rekeying replace the shares, each block in its own shell, and again after a theft", async () => {
  const run = startIn({ CLOUD_AUTH_STATE: STATE }, '--cluster', 'east', '--port', '0')
  await run.until('Serving.')
  const [begin = '', give = '', giveLast = '', verify = '', check = ''] = rekeyingBlocks()
  const [checkOld = ''] = blocksOf('stolen', '3. Recovery shares')

  const rekey = async (): Promise<string[]> => {
    const old = file().recovery_keys
    for (const block of [begin, give]) expect(await paste(block)).toMatchObject({ status: 0 })
    const made = await paste(giveLast)
    expect(made.stdout).toContain('5 new shares are in .local/new-shares.json')
    expect(statSync(NEW_SHARES).mode & 0o777).toBe(0o600)
    const { keys } = JSON.parse(readFileSync(NEW_SHARES, 'utf8')) as { keys: string[] }
    // repeating the block loses no shares
    expect(await paste(giveLast)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('move it away'),
    })

    const declined = await paste(verify, { typed: 'no\n' })
    expect(declined.stdout).toContain('nothing was verified: the old shares count')
    expect(file().recovery_keys, 'before the verification').toEqual(old)
    const verified = await paste(verify, { typed: 'yes\n' })
    expect(verified.stdout, verified.stderr).toContain('"complete":true')
    expect(file().recovery_keys, 'after the verification').toEqual(keys)

    expect(await paste(check)).toMatchObject({ status: 0, stdout: expect.stringContaining('true') })
    expect(existsSync(NEW_SHARES)).toBe(false)
    expect(await paste(checkOld, { before: `OLD_SHARE=${old[0]}` })).toMatchObject({ status: 0 })
    expect(await makeRoot(keys)).toBe(true)
    expect(await makeRoot(old)).toBe(false)
    return keys
  }
  await rekey()
  const keys = await rekey()

  run.child.kill('SIGINT')
  expect(await run.ended, run.output()).toBe(0)
  const again = startIn({ CLOUD_AUTH_STATE: STATE }, '--cluster', 'east')
  await again.until('Serving.')
  expect(file().recovery_keys, 'after a start').toEqual(keys)
  again.child.kill('SIGINT')
  expect(await again.ended, again.output()).toBe(0)
}, 300_000)
