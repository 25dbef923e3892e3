import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readReleaseFiles } from '../../../../../infra/command/prove/release-files.ts'
import { unpackTarball } from '../../../../../infra/command/prove/tarball.ts'
import { packTarball } from '../../../../../infra/release/archives.ts'
import { ARCHIVE, smallRelease, writeRelease } from './release-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/release-`)
  writeRelease(folder)
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = () => readReleaseFiles(folder)

describe('a release folder', () => {
  test('has the version, three templates and the code of its archive', () => {
    const { version, templates, assets } = read()
    expect(version).toBe('1.0.0')
    expect(Object.keys(templates)).toEqual(['data', 'api', 'workers'])
    expect(assets.map(one => [one.name, Buffer.from(one.bytes).toString()])).toEqual([
      [`${'a'.repeat(64)}.zip`, 'code'],
    ])
  })

  test('is refused with the name of a file of which one byte has changed', () => {
    const bytes = readFileSync(`${folder}/${ARCHIVE}`)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    writeFileSync(`${folder}/${ARCHIVE}`, bytes)
    expect(read).toThrow(`${ARCHIVE} differs from its checksum in SHA256SUMS. Nothing was made`)
  })

  test('is refused if another downloaded file of the release has changed', () => {
    writeFileSync(`${folder}/cloud-auth-1.0.0.tgz`, 'another package')
    expect(read).toThrow('cloud-auth-1.0.0.tgz differs from its checksum')
  })

  test.each([
    ['SHA256SUMS', 'has no SHA256SUMS'],
    [ARCHIVE, 'must have one archive'],
  ])('is refused without %s', (name, why) => {
    rmSync(`${folder}/${name}`)
    expect(read).toThrow(why)
  })

  test.each([`${'0'.repeat(64)}  ../secret`, 'text', `${'0'.repeat(64)}  cloud-auth-1.0.0.tgz`])(
    'is refused with the line %j in SHA256SUMS',
    line => {
      appendFileSync(`${folder}/SHA256SUMS`, `${line}\n`)
      expect(read).toThrow('SHA256SUMS has an invalid line')
    },
  )

  test.each([
    ['data.template.json', 'has no data.template.json'],
    [`assets/${'a'.repeat(64)}.zip`, 'has no code'],
  ])('is refused if the archive lacks %s', (name, why) => {
    const rest = smallRelease.filter(one => one.name !== name)
    writeRelease(folder, rest)
    expect(read).toThrow(why)
  })
})

describe('unpackTarball', () => {
  test('returns the files that packTarball has packed', () => {
    const entries = [
      { name: 'a', bytes: Buffer.alloc(512, 1) },
      { name: 'b/c', bytes: Buffer.from('text') },
      { name: 'd', bytes: Buffer.alloc(0) },
    ]
    const files = unpackTarball(packTarball('root', entries))
    expect(files.map(one => ({ ...one, bytes: Buffer.from(one.bytes) }))).toEqual(entries)
  })

  test.each(['77777777777', '-1', 'x', ''])('refuses a file of the size %j', size => {
    const header = Buffer.alloc(512)
    header.write('name')
    header.write(size, 124)
    header.write('0', 156)
    expect(() => unpackTarball(gzipSync(Buffer.concat([header, Buffer.alloc(1024)])))).toThrow('malformed')
  })
})
