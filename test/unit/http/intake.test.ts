import { describe, expect, test } from 'vitest'
import { answer, noContentAnswer } from '../../../shared/api/call.ts'
import {
  allowAnyone,
  allowByPolicy,
  declareEndpoint,
  type EndpointGroup,
} from '../../../shared/api/endpoint.ts'
import { type ApiError, invalidRequestError } from '../../../shared/api/errors.ts'
import { durationField, textField } from '../../../shared/api/fields.ts'
import { requireDrReplication, requireUnexpiredLicence } from '../../../shared/api/licence.ts'
import { readRequestIntake } from '../../../shared/http/intake.ts'
import type { HttpRequest } from '../../../shared/http/request.ts'
import type { Deployment } from '../../../shared/ports.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { httpRequest } from '../../builders/http-request.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'
import { portsWith } from '../../builders/ports.ts'

const handle = () => answer(noContentAnswer())
const prepared = { keys: [key('mounts')], prepared: 'proof' }

const group: EndpointGroup = {
  name: 'things',
  endpoints: [
    declareEndpoint({
      method: 'POST',
      path: '/auth/:mount/thing/:role',
      summary: 'x',
      fields: { ttl: durationField('Its life'), role: textField('Its role') },
      access: allowByPolicy('update'),
      answers: 'nothing',
      handle,
    }),
    declareEndpoint({
      method: 'GET',
      path: '/sys/look',
      summary: 'x',
      access: allowAnyone,
      answers: 'plain',
      head: true,
      unaudited: true,
      anyNamespace: true,
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/licensed',
      summary: 'x',
      access: allowByPolicy('update'),
      licence: requireDrReplication,
      answers: 'nothing',
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/begins',
      summary: 'x',
      access: allowByPolicy('update'),
      licence: requireUnexpiredLicence,
      answers: 'nothing',
      handle,
    }),
    declareEndpoint({
      method: 'GET',
      path: '/sys/read',
      summary: 'x',
      access: allowAnyone,
      answers: 'data',
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/any',
      summary: 'x',
      access: allowAnyone,
      answers: 'data',
      freeForm: true,
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/prove',
      summary: 'x',
      fields: { proof: textField('A proof') },
      access: allowAnyone,
      answers: 'auth',
      prepare: async ({ parameters }) => {
        if (parameters.proof !== 'good') throw invalidRequestError('the proof is bad')
        return prepared
      },
      handle,
    }),
  ],
}

const NOW = 150_000
const signer = licenceKey()
const licence = (text: string): License => ({ text, publicKey: signer.publicKey })
const lasting = licence(licenceText(signer.privateKey, { nbf: 100, exp: 200 }))
type License = Deployment['license']

const take = (parts: Partial<HttpRequest>, license: License = lasting) => {
  const request = httpRequest({
    path: '/v1/auth/cloud/thing/dev',
    gatewayId: 'gateway',
    deadline: 42,
    ...parts,
  })
  const ports = portsWith({
    entropy: { uuid: () => 'r-1' },
    clock: { now: () => NOW },
    deployment: { license },
  })
  return readRequestIntake(group, request, 'r-1', ports)
}

describe('parsing a request', () => {
  test('parsing yields the endpoint, the parameters and the token of a request', async () => {
    const taken = await take({
      path: '/v1/auth/cloud/thing/DEV',
      headers: { 'x-vault-token': 'hvs.a', 'x-vault-wrap-ttl': '1m' },
      body: '{"ttl":"1h"}',
    })
    expect(taken).toMatchObject({
      facts: {
        id: 'r-1',
        gatewayId: 'gateway',
        path: 'auth/cloud/thing/dev',
        operation: 'write',
        source: '192.0.2.1',
        deadline: 42,
        wrapTtl: 60,
      },
      raw: { ttl: '1h' },
      parameters: { ttl: 3600 },
      warnings: [],
      keys: [],
    })
    expect(taken.token?.reveal()).toBe('hvs.a')
    expect(taken.fault ?? taken.bodyFault).toBeUndefined()
  })

  const wrapped = (ttl: string) => ({ 'x-vault-wrap-ttl': ttl })

  test.each<[name: string, parts: Partial<HttpRequest>, wrapTtl: number | undefined, refused: boolean]>([
    ['of an authenticated request', { path: '/v1/auth/cloud/thing/dev' }, 60, false],
    ['of a login', { path: '/v1/sys/prove', body: '{"proof":"good"}' }, 60, false],
    ['of an anonymous read', { path: '/v1/sys/read', method: 'GET' }, 60, true],
    ['of an anonymous write', { path: '/v1/sys/any' }, 60, true],
    ['of a health probe', { path: '/v1/sys/look', method: 'GET' }, undefined, false],
    ['of a health probe by HEAD', { path: '/v1/sys/look', method: 'HEAD' }, undefined, false],
  ])('wrapping the response %s: TTL $2, rejected $3', async (_, parts, wrapTtl, refused) => {
    const token = { 'x-vault-token': 'hvs.a' }
    const { facts, fault } = await take({ ...parts, headers: { ...wrapped('1m'), ...token } })
    expect(facts.wrapTtl).toBe(wrapTtl)
    expect(fault?.message.includes('only the response of a login') ?? false).toBe(refused)
    expect((await take({ ...parts, headers: wrapped('0') })).fault).toBeUndefined()
  })

  test('health probes ignore X-Vault-Wrap-TTL, and other requests reject an invalid value', async () => {
    const probe = { path: '/v1/sys/look', method: 'GET' }
    for (const ttl of ['soon', '769h']) {
      expect((await take({ ...probe, headers: wrapped(ttl) })).facts).not.toHaveProperty('wrapTtl')
      await expect(take({ headers: wrapped(ttl) })).rejects.toThrow('X-Vault-Wrap-TTL')
    }
  })

  test('unknown parameters cause a warning, and path parameters win', async () => {
    const { parameters, raw, warnings, unknownFields } = await take({
      body: '{"role":"other","mount":"x","b":1,"a":2}',
    })
    expect(unknownFields).toBe(true)
    expect({ ...parameters }).toEqual({})
    expect(raw).toEqual({ b: 1, a: 2 })
    expect(warnings).toEqual([
      'path parameters replaced these parameters of the body: role, mount',
      'unknown parameters were ignored: b, a',
    ])
  })

  test('names of path parameters and their aliases cause no warning', async () => {
    const { warnings, unknownFields } = await take({ body: '{"role":"other","mount_point":"cloud"}' })
    expect(warnings).toEqual(['path parameters replaced these parameters of the body: role'])
    expect(unknownFields).toBe(false)
  })

  test('an endpoint that accepts any parameters causes no warning', async () => {
    expect(await take({ path: '/v1/sys/any', body: '{"b":1}' })).toMatchObject({
      raw: { b: 1 },
      warnings: [],
    })
  })

  test('an invalid body is reported only after the gate admits the request', async () => {
    expect(await take({ body: '{' })).toMatchObject({ bodyFault: { code: 'invalid_request' }, raw: {} })
  })

  test('an invalid parameter is reported only to authorised callers', async () => {
    const { fault, bodyFault } = await take({ body: '{"ttl":"soon"}' })
    expect(bodyFault).toBeUndefined()
    expect(fault).toMatchObject({
      code: 'invalid_request',
      message: 'Field validation failed: ttl must be a duration',
    })
  })

  test('a login proof is verified before anything is read', async () => {
    const good = await take({ path: '/v1/sys/prove', body: '{"proof":"good"}' })
    expect(good).toMatchObject(prepared)
    const bad = await take({ path: '/v1/sys/prove', body: '{"proof":"bad"}' })
    expect(bad).toMatchObject({ fault: { message: 'the proof is bad' }, keys: [] })
  })

  test.each<[name: string, parts: Partial<HttpRequest>, code: string]>([
    ['a path with a dot segment', { path: '/v1/auth/cloud/../x' }, 'invalid_request'],
    ['an unknown namespace', { headers: { 'x-vault-namespace': 'a' } }, 'unsupported_path'],
    ['an invalid list flag', { method: 'GET', query: [['list', 'x']] }, 'unclear_list_flag'],
    ['an invalid wrapping TTL', { headers: { 'x-vault-wrap-ttl': 'x' } }, 'invalid_request'],
    ['a token of 9000 bytes', { headers: { 'x-vault-token': 'x'.repeat(9000) } }, 'head_too_large'],
    ['a request head over the limit', { headers: { x: 'x'.repeat(13_000) } }, 'head_too_large'],
    ['a PATCH with a wrong content type', { method: 'PATCH' }, 'unsupported_media_type'],
  ])('%s is rejected at once', async (_, parts, code) => {
    await expect(take(parts)).rejects.toMatchObject({ code })
  })

  test.each<[method: string, path: string, found: object]>([
    ['HEAD', '/v1/sys/look', { endpoint: { path: '/sys/look' } }],
    ['HEAD', '/v1/sys/read', { miss: 'operation', open: true, serves: 'active' }],
    ['HEAD', '/v1/sys/nothing', { miss: 'path' }],
    ['OPTIONS', '/v1/sys/read', { miss: 'operation' }],
    ['GET', '/v1/sys/read', { endpoint: { path: '/sys/read' } }],
  ])('the request %s %s finds the endpoint $2', async (method, path, found) => {
    expect((await take({ method, path })).match).toMatchObject(found)
  })
})

describe('requests rejected before the first read', () => {
  const elsewhere = { headers: { 'x-vault-namespace': 'team' } }
  const ended = licence(licenceText(signer.privateKey, { nbf: 100, exp: 150 }))
  const none = licence('')
  const codeOf = (parts: Partial<HttpRequest>, license?: License) =>
    take(parts, license).then(
      () => 'taken',
      (error: ApiError) => error.code,
    )

  test('an unknown namespace is rejected, except by endpoints that accept any', async () => {
    expect(await codeOf(elsewhere)).toBe('unsupported_path')
    expect(await codeOf({ path: '/v1/sys/look', method: 'GET', ...elsewhere })).toBe('taken')
    expect(await codeOf({ path: '/v1/sys/nowhere', method: 'GET', ...elsewhere })).toBe('unsupported_path')
  })

  test.each<[name: string, license: License, goesOn: string, begins: string]>([
    ['a valid licence', lasting, 'taken', 'taken'],
    ['an expired licence', ended, 'taken', 'not_licensed'],
    ['no licence', none, 'not_licensed', 'not_licensed'],
  ])(
    'with %s, an endpoint that continues an enterprise feature gets $2, and an endpoint that starts the feature gets $3',
    async (_, license, goesOn, begins) => {
      expect(await codeOf({ path: '/v1/sys/licensed' }, license)).toBe(goesOn)
      expect(await codeOf({ path: '/v1/sys/begins' }, license)).toBe(begins)
      expect(await codeOf({ path: '/v1/sys/look', method: 'GET' }, license)).toBe('taken')
    },
  )

  test('a missing licence is reported before an unknown namespace, with the settings to change', async () => {
    await expect(take({ path: '/v1/sys/licensed', ...elsewhere }, none)).rejects.toThrow(
      'enterprise-only feature: this deployment has no licence; see the settings license and licensePublicKey of the deployment',
    )
    expect(await codeOf({ path: '/v1/sys/licensed', ...elsewhere })).toBe('unsupported_path')
  })
})
