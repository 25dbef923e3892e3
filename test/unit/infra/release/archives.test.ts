import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { unzipSync } from 'fflate'
import { afterAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { packTarball, packZip, readEntries } from '../../../../infra/release/archives.ts'

const folder = mkdtempSync(`${tmpdir()}/archives-`)
afterAll(() => rmSync(folder, { recursive: true }))

const entry = (name: string, text: string) => ({ name, bytes: Buffer.from(text) })
const entries = [
  entry('b', 'second'),
  entry('a/long', 'x'.repeat(2000)),
  entry('Ä', ''),
  entry('bin/run', '#!/bin/sh\n'),
]

const pack = (shuffled: typeof entries) => [packZip(shuffled), packTarball('package', shuffled, ['bin/run'])]

describe('archives', () => {
  test('do not depend on the order of entries', () => {
    expect(pack(entries.toReversed())).toEqual(pack(entries))
  })

  // a time zone takes effect only in a process of its own
  test('do not depend on the time zone', () => {
    const program = `import { packTarball, packZip } from '${checkoutRoot}infra/release/archives.ts'
      const entries = [{ name: 'a', bytes: Buffer.from('text') }]
      console.log(new Date(0).getHours(), Buffer.from(packZip(entries)).toString('hex'), Buffer.from(packTarball('package', entries)).toString('hex'))`
    const [first = [], second = []] = ['Pacific/Kiritimati', 'America/Los_Angeles'].map(zone =>
      execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
        encoding: 'utf8',
        env: { TZ: zone },
      }).split(' '),
    )
    expect(second[0]).not.toBe(first[0])
    expect(second.slice(1)).toEqual(first.slice(1))
  })

  test('contain the bytes of their entries', () => {
    const [zip = Buffer.alloc(0), tarball = Buffer.alloc(0)] = pack(entries)
    const sorted = ['a/long', 'b', 'bin/run', 'Ä']
    expect(Object.keys(unzipSync(zip))).toEqual(sorted)
    writeFileSync(`${folder}/a.tgz`, tarball)
    mkdirSync(`${folder}/out`)
    execFileSync('tar', ['-xzf', `${folder}/a.tgz`, '-C', `${folder}/out`])
    const unpacked = readEntries(`${folder}/out/package`)
    for (const { name, bytes } of entries) {
      expect(Buffer.from(unzipSync(zip)[name] ?? []), name).toEqual(bytes)
      expect(Buffer.from(unpacked.find(one => one.name === name)?.bytes ?? []), name).toEqual(bytes)
    }
    expect(unpacked).toHaveLength(entries.length)
  })

  test('give every entry one time, no owner and a mode that ignores the umask', () => {
    writeFileSync(`${folder}/b.tgz`, pack(entries)[1] ?? '')
    const lines = execFileSync('tar', ['--utc', '--numeric-owner', '-tvzf', `${folder}/b.tgz`], {
      encoding: 'utf8',
    })
    const facts = lines
      .trim()
      .split('\n')
      .map(line => line.split(/\s+/))
    expect(facts.map(([mode]) => mode)).toEqual(['-rw-r--r--', '-rw-r--r--', '-rwxr-xr-x', '-rw-r--r--'])
    for (const [, owner, , date, time] of facts)
      expect([owner, date, time]).toEqual(['0/0', '1985-10-26', '08:15'])
  })

  test('reject a name that the tar header cannot hold', () => {
    expect(() => packTarball('package', [entry('n'.repeat(101), '')])).toThrow(/has more than 100 bytes/)
  })
})
