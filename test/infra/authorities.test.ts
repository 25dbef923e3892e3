import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { newAuthority } from '../../infra/local/tls.ts'
import { shippedWith } from './synthesised.ts'

describe('certificates of authorities that vouch for other clusters', () => {
  const folder = mkdtempSync(`${tmpdir()}/cloud-auth-authorities-`)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const { cert } = newAuthority('an organisation')
  mkdirSync(`${folder}/eu`)
  writeFileSync(`${folder}/eu/own.pem`, cert)

  test('are shipped to the functions that ask other clusters, or are told of them, and to no other', async () => {
    const { functions, codeOf } = await shippedWith({ stage: 'test', caBundles: folder })
    const told = [...functions].filter(([, variables]) => variables['AUTHORITIES'] !== undefined)
    expect(told.map(([name]) => name).sort()).toEqual([
      'on-journal',
      'on-operation',
      'on-pull',
      'replication',
    ])
    for (const [name, { AUTHORITIES: file = 'authorities.json' }] of functions) {
      const path = `${codeOf(name)}/${file}`
      const shipped = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
      expect(shipped, name).toEqual(told.some(one => one[0] === name) ? { 'eu/own.pem': cert } : undefined)
      expect(existsSync(`${codeOf(name)}/index.mjs`), name).toBe(true)
    }
    // other certificates make other code, although the bundles are the same
    writeFileSync(`${folder}/eu/own.pem`, newAuthority('another').cert)
    const later = await shippedWith({ stage: 'test', caBundles: folder })
    expect(basename(later.codeOf('on-pull'))).not.toBe(basename(codeOf('on-pull')))
    expect(basename(later.codeOf('login'))).toBe(basename(codeOf('login')))
  })
})
