import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { createLocalAuthority } from '../../infra/local/gateway/tls.ts'
import { shippedWith } from './synthesised.ts'

describe('certificates in `caBundles`', () => {
  const folder = mkdtempSync(`${tmpdir()}/cloud-auth-authorities-`)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const { cert } = createLocalAuthority('an organisation')
  mkdirSync(`${folder}/eu`)
  writeFileSync(`${folder}/eu/own.pem`, cert)

  test('are shipped only to functions that call other clusters or store their addresses', () => {
    const functions = shippedWith({ stage: 'test', caBundles: folder })
    const told = [...functions].filter(([, { variables }]) => variables['AUTHORITIES'] !== undefined)
    expect(told.map(([name]) => name).sort()).toEqual([
      'on-journal',
      'on-operation',
      'on-pull',
      'replication',
    ])
    for (const [name, { variables, files }] of functions) {
      const text = files[variables['AUTHORITIES'] ?? 'authorities.json']
      const shipped = text === undefined ? undefined : JSON.parse(text)
      expect(shipped, name).toEqual(told.some(one => one[0] === name) ? { 'eu/own.pem': cert } : undefined)
      expect(files, name).toHaveProperty(['index.mjs'])
    }
    // other certificates must change the code asset, although the bundles are the same
    writeFileSync(`${folder}/eu/own.pem`, createLocalAuthority('another').cert)
    const later = shippedWith({ stage: 'test', caBundles: folder })
    const assets = (name: string) => [functions, later].map(every => every.get(name)?.asset)
    expect(new Set(assets('on-pull')).size).toBe(2)
    expect(new Set(assets('login')).size).toBe(1)
  })
})
