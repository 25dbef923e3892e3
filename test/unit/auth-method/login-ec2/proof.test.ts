import { sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  rsaSha256,
  selfSignCertificate,
  toCertificatePem,
} from '../../../../infra/local/provider/documents/certificate.ts'
import { encodeCmsSignedData } from '../../../../infra/local/provider/documents/cms.ts'
import type { EarlyCall } from '../../../../shared/api/call.ts'
import { ApiError } from '../../../../shared/api/errors.ts'
import type { loginFields } from '../../../../shared/auth-method/login/fields.ts'
import { prepareLogin, verifyDocumentByBuiltInKeys } from '../../../../shared/auth-method/login.ts'
import {
  type Ec2ProofInput,
  verifyByRememberedKey,
  verifyDocument,
} from '../../../../shared/auth-method/login-ec2/proof.ts'
import { readDocumentProof } from '../../../../shared/identity-proof/instance-document.ts'
import { readCertificateName } from '../../../../shared/identity-proof/trust.ts'
import type { Deployment, EnvironmentMemory } from '../../../../shared/ports.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { documentText } from '../../../builders/instance-document.ts'
import { type KeyPair, keys } from '../../../builders/keys.ts'
import { portsWith } from '../../../builders/ports.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import y2017 from '../../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }
import y2021 from '../../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'

/** Builds a self-signed certificate and a document signed with it. */
function signer({ publicKey, privateKey }: KeyPair) {
  const der = selfSignCertificate(publicKey, privateKey, rsaSha256)
  const serial = BigInt(`0x${readCertificateName(der).serial}`)
  const message = encodeCmsSignedData(Buffer.from(documentText()), {
    privateKey,
    serial,
    scheme: rsaSha256,
    at: 0,
  })
  return { pem: toCertificatePem(der), pkcs7: message.toString('base64') }
}
const own = signer(keys.rsa(2048))
const weak = signer(keys.rsa(1024))

type Registered = [pem: string, type: 'pkcs7' | 'identity', mount?: string][]

/** Builds a login at a mount with these certificates. */
function callAt(items: readonly Item[], legacySignatures = false, memory: EnvironmentMemory = {}) {
  const { store, reads } = memoryStore(items)
  const lists: string[] = []
  const list: typeof store.list = where => {
    lists.push(where.kind)
    return store.list(where)
  }
  const ports = { store: { ...store, list }, memory, deployment: { legacySignatures } }
  return { call: callWith({ mount: mount(), fetched: fetchedItems(store), ports }), reads, lists, memory }
}

/** Verifies a proof, and returns its refusal or the key that verified it. */
async function prove(input: Ec2ProofInput, registered: Registered = [], legacy = false): Promise<string> {
  const items = registered.map(([pem, type, mount = accessor], at) =>
    item(key('certificate', mount, `c${at}`), { pem, type }),
  )
  try {
    const early = await verifyDocumentByBuiltInKeys(input, legacy)
    if (early.document) return 'verified by AWS'
    await verifyDocument(callAt(items, legacy).call, early)
    return 'verified by the mount'
  } catch (error) {
    return error instanceof ApiError ? String(error.reason?.['why']) : String(error)
  }
}

const identity = { identity: Buffer.from(y2017.document).toString('base64'), signature: y2017.signature }

describe('keys that verify a document', () => {
  test.each<[string, Ec2ProofInput, Registered, string, string]>([
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

  test('documents in identity form are verified only by certificates of type identity', async () => {
    const text = Buffer.from(documentText())
    const { privateKey } = keys.rsa(2048)
    const input = {
      identity: text.toString('base64'),
      signature: sign('sha256', text, privateKey).toString('base64'),
    }
    expect(await prove(input, [[own.pem, 'identity']])).toBe('verified by the mount')
    expect(await prove(input, [[own.pem, 'pkcs7']])).toBe('signature')
  })

  test('a fault that no certificate can fix is rejected before the mount is read', async () => {
    const inputs = [{ pkcs7: 'MIAG' }, {}, { pkcs7: y2017.pkcs7 }]
    for (const input of inputs)
      await expect(verifyDocumentByBuiltInKeys(input, false)).rejects.toThrow(ApiError)
  })
})

describe('a certificate that verified an earlier document', () => {
  const place = key('certificate', accessor, 'home')
  const vouching = item(place, { pem: own.pem, type: 'pkcs7' })
  const early = () => verifyDocumentByBuiltInKeys({ pkcs7: own.pkcs7 }, false)
  const remembered = async () => {
    const world = callAt([vouching])
    await verifyDocument(world.call, await early())
    return world
  }

  const guessed = ({ memory }: { memory: EnvironmentMemory }, at = accessor) => {
    const proof = readDocumentProof({ pkcs7: own.pkcs7 })
    if (!proof.ok) throw new Error(proof.fault.why)
    return verifyByRememberedKey(
      { memory, deployment: { legacySignatures: false } as Deployment },
      at,
      proof.value,
    )
  }

  test('the next login reads only the remembered certificate and does not parse the certificate again', async () => {
    const { memory, lists, call } = await remembered()
    expect([lists, call.fetched.keys()]).toEqual([['certificate'], [place]])
    const again = callAt([{ ...vouching, data: { ...vouching.data, pem: 'no certificate' } }], false, memory)
    expect(await verifyDocument(again.call, await early())).toMatchObject({ instanceId: expect.any(String) })
    expect([again.reads, again.lists]).toEqual([['certificate home'], []])
  })

  test('the guessed certificate verifies the document before the read, and is confirmed after the read', async () => {
    const world = await remembered()
    const guess = guessed(world)
    expect(guess).toMatchObject({ place, document: { instanceId: expect.any(String) } })
    expect(guess?.confirm(vouching)).toEqual(guess?.document)
    expect(guess?.confirm({ ...vouching, rev: 'another' })).toBeUndefined()
    expect(guess?.confirm(undefined)).toBeUndefined()
    expect([guessed({ memory: {} }), guessed(world, 'auth_another')]).toEqual([undefined, undefined])
  })

  test.each<[string, Item<'certificate'>[]]>([
    ['deleted', []],
    ['replaced by another one', [item(place, { pem: weak.pem, type: 'pkcs7' }, 'r2')]],
    ['registered for the other form', [item(place, { pem: own.pem, type: 'identity' }, 'r2')]],
  ])('the certificate is not used once it is %s', async (_, items) => {
    const world = await remembered()
    const refused = 'could not be verified'
    const afresh = await early()
    await expect(verifyDocument(callAt(items, false, world.memory).call, afresh)).rejects.toThrow(refused)
    const again = { ...(await early()), guess: guessed(world) }
    await expect(verifyDocument(callAt(items, false, world.memory).call, again)).rejects.toThrow(refused)
  })

  test('the certificate is not used at another mount with the same certificate name', async () => {
    const world = await remembered()
    const strange = item(key('certificate', 'auth_another', 'home'), { pem: weak.pem, type: 'pkcs7' })
    const { call } = callAt([vouching, strange], false, world.memory)
    const again = { ...(await early()), guess: guessed(world) }
    await expect(
      verifyDocument({ ...call, mount: mount({ accessor: 'auth_another' }) }, again),
    ).rejects.toThrow('could not be verified')
  })

  test('another certificate is found if the remembered certificate was deleted', async () => {
    const { memory } = await remembered()
    const other = item(key('certificate', accessor, 'other'), { pem: own.pem, type: 'pkcs7' })
    await verifyDocument(callAt([other], false, memory).call, await early())
  })
})

test.each([
  ['its client is loaded', async () => undefined],
  ['loading fails, which the call that needs it reports', () => Promise.reject(new Error('no chunk'))],
])('an ec2 login loads the EC2 client before the first read: %s', async (_, load) => {
  let loads = 0
  const instances = {
    load: () => {
      loads += 1
      return load()
    },
  }
  const ports = portsWith({ instances, memory: {}, deployment: { legacySignatures: false } })
  const given = { pkcs7: own.pkcs7 }
  const early = { parameters: given, ports, pathParameters: { mount: 'cloud' } } as Partial<
    EarlyCall<typeof loginFields>
  >
  expect(await prepareLogin(early as EarlyCall<typeof loginFields>)).toMatchObject({ keys: [] })
  expect(loads).toBe(1)
})
