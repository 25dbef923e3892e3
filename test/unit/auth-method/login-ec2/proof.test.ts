import { sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  certificatePem,
  rsaSha256,
  selfSign,
} from '../../../../infra/local/provider/documents/certificate.ts'
import { signedData } from '../../../../infra/local/provider/documents/cms.ts'
import { ApiError } from '../../../../shared/api/errors.ts'
import {
  type Ec2Input,
  proveEarly,
  proveWithRegistered,
} from '../../../../shared/auth-method/login-ec2/proof.ts'
import { nameOf } from '../../../../shared/identity-proof/trust.ts'
import type { Store } from '../../../../shared/ports.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { documentText } from '../../../builders/instance-document.ts'
import { type KeyPair, keys } from '../../../builders/keys.ts'
import y2017 from '../../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }
import y2021 from '../../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }
import { item, preparedStore } from '../../support/store.ts'

const accessor = 'auth_cloud_1'

/** A certificate of one's own, and a document signed with it. */
function signer({ publicKey, privateKey }: KeyPair) {
  const der = selfSign(publicKey, privateKey, rsaSha256)
  const serial = BigInt(`0x${nameOf(der).serial}`)
  const message = signedData(Buffer.from(documentText()), { privateKey, serial, scheme: rsaSha256, at: 0 })
  return { pem: certificatePem(der), pkcs7: message.toString('base64') }
}
const own = signer(keys.rsa(2048))
const weak = signer(keys.rsa(1024))

type Registered = [pem: string, type: 'pkcs7' | 'identity', mount?: string][]

/** How a proof fares: refused at once, with certificates of the mount, or verified by whom. */
async function prove(input: Ec2Input, registered: Registered = [], legacy = false): Promise<string> {
  const items = registered.map(([pem, type, mount = accessor], at) =>
    item(key('certificate', mount, `c${at}`), { pem, type }),
  )
  try {
    const early = await proveEarly(input, legacy)
    if (early.verified) return 'verified by AWS'
    await proveWithRegistered(early, preparedStore(items).store as Store, accessor, legacy)
    return 'verified by the mount'
  } catch (error) {
    return error instanceof ApiError ? String(error.reason?.['why']) : String(error)
  }
}

const identity = { identity: Buffer.from(y2017.document).toString('base64'), signature: y2017.signature }

describe('whose signature counts: auth-behaviour 4.2.4, architecture 17', () => {
  test.each<[string, Ec2Input, Registered, string, string]>([
    ['AWS’s rsa2048', { pkcs7: y2021.rsa2048 }, [], 'verified by AWS', 'verified by AWS'],
    ['AWS’s pkcs7', { pkcs7: y2017.pkcs7 }, [], 'sha1', 'verified by AWS'],
    ['AWS’s signature', identity, [], 'signature', 'verified by AWS'],
    ['nobody', { pkcs7: own.pkcs7 }, [], 'unknown-signer', 'unknown-signer'],
    [
      'a registered certificate',
      { pkcs7: own.pkcs7 },
      [[own.pem, 'pkcs7']],
      'verified by the mount',
      'verified by the mount',
    ],
    [
      'one among others',
      { pkcs7: own.pkcs7 },
      [
        [weak.pem, 'pkcs7'],
        [own.pem, 'pkcs7'],
      ],
      'verified by the mount',
      'verified by the mount',
    ],
    [
      'one that is registered for identity',
      { pkcs7: own.pkcs7 },
      [[own.pem, 'identity']],
      'unknown-signer',
      'unknown-signer',
    ],
    [
      'one that is registered at another mount',
      { pkcs7: own.pkcs7 },
      [[own.pem, 'pkcs7', 'auth_other']],
      'unknown-signer',
      'unknown-signer',
    ],
    [
      'a registered RSA-1024',
      { pkcs7: weak.pkcs7 },
      [[weak.pem, 'pkcs7']],
      'weak-key',
      'verified by the mount',
    ],
  ])('%s', async (_, input, registered, byDefault, asLegacy) => {
    expect([await prove(input, registered), await prove(input, registered, true)]).toEqual([
      byDefault,
      asLegacy,
    ])
  })

  test('for the identity form only certificates of the type identity count', async () => {
    const text = Buffer.from(documentText())
    const { privateKey } = keys.rsa(2048)
    const input = {
      identity: text.toString('base64'),
      signature: sign('sha256', text, privateKey).toString('base64'),
    }
    expect(await prove(input, [[own.pem, 'identity']])).toBe('verified by the mount')
    expect(await prove(input, [[own.pem, 'pkcs7']])).toBe('signature')
  })

  test('what no certificate can turn is refused before the mount is read', async () => {
    const inputs = [{ pkcs7: 'MIAG' }, {}, { pkcs7: y2017.pkcs7 }]
    for (const input of inputs) await expect(proveEarly(input, false)).rejects.toThrow(ApiError)
  })
})
