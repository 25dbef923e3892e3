import { describe, expect, test } from 'vitest'
import { reportAlgorithms, trySignatureAlgorithms } from '../../../shared/identity-proof/algorithms.ts'

type Check = NonNullable<Parameters<typeof trySignatureAlgorithms>[0]>
const working = (check?: unknown) =>
  trySignatureAlgorithms(check as Check).flatMap(one => (one.works ? [one.name] : []))

const all = ['RSA-2048 with SHA-256', 'RSA-1024 with SHA-256', 'DSA-1024 with SHA-1', 'RSA-2048 with SHA-1']

describe('testing signature algorithms on this runtime', () => {
  test('Node with its own OpenSSL supports every algorithm', () => {
    expect(working()).toEqual(all)
    expect(trySignatureAlgorithms().flatMap(one => (one.legacy ? [] : [one.name]))).toEqual([all[0]])
  })

  test('an OpenSSL policy that rejects SHA-1 is detected', () => {
    const refusing = (digest: string) => {
      if (digest === 'sha1') throw new Error('error:03000098:digital envelope routines::invalid digest')
      return true
    }
    // this algorithm accepts every signature that it does not reject, so it verifies nothing
    expect(working(refusing)).toEqual([])
    let calls = 0
    const alternating = (digest: string) => refusing(digest) && calls++ % 2 === 0
    expect(working(alternating)).toEqual([all[0], all[1]])
  })

  test('a runtime that accepts no signature, or every signature, supports no algorithm', () => {
    expect(working(() => false)).toEqual([])
    expect(working(() => true)).toEqual([])
  })

  test('an accepted but unsupported algorithm causes a warning', () => {
    const broken = trySignatureAlgorithms(() => false)
    const warned = (legacy: boolean) =>
      reportAlgorithms(broken, legacy).warnings.map(text => all.find(name => text.includes(name)))
    expect(warned(false)).toEqual([all[0]])
    expect(warned(true)).toEqual(all)
    expect(reportAlgorithms(trySignatureAlgorithms(), true).warnings).toEqual([])
    expect(reportAlgorithms(trySignatureAlgorithms(), false).signatures[2]).toEqual({
      algorithm: 'DSA-1024 with SHA-1',
      documents: 'pkcs7',
      accepted: false,
      works_on_this_runtime: true,
    })
  })
})
