import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { beforeEach, describe, expect, test } from 'vitest'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import {
  formatLinkPublicKeys,
  generateLinkKeyPairs,
  linkPublicKeysOf,
  parseLinkKeyPairs,
} from '../../../../shared/link/pair.ts'
import { changesRole, ways } from '../../../support/requests/endpoints.ts'
import { bodiesFor } from '../../../support/requests/hostile.ts'
import { iamRole } from '../../../support/requests/things.ts'
import { auditText } from '../../../support/service/audit.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { drStatus } from '../../../support/set/dr-status.ts'

const R = '/sys/replication/dr'
let host: Awaited<ReturnType<typeof ownHost>>
beforeEach(async () => {
  host = await ownHost()
})

describe('API calls that change the role of a cluster', () => {
  const changing = ways.filter(({ endpoint: { method }, path }) => method === 'POST' && changesRole(path))

  test.each(changing)('$title never fails with 500, whatever the parameters', async ({ path, endpoint }) => {
    for (const body of bodiesFor(endpoint.fields, 4)) {
      const { status, text } = await host.api('POST', path, body)
      expect([500, 503, 504], text).not.toContain(status)
      await host.settled()
    }
  })

  test.each(changing)('$title also accepts PUT', async ({ path }) => {
    const answers = []
    for (const method of ['POST', 'PUT']) {
      const one = await ownHost()
      const { status, body } = await one.api(method, path, { policies: 7 })
      answers.push([status, body?.errors])
    }
    expect(answers[1]).toEqual(answers[0])
  })
})

const post = (path: string, body: object = {}) => host.api('POST', R + path, body)
const status = async () => {
  const { body } = await host.api('GET', `${R}/status`, undefined, { token: '' })
  return v.parse(drStatus, body.data)
}

describe('a cluster that becomes a primary', () => {
  test('answers with a warning, keeps its items, and counts its writes', async () => {
    await host.api('POST', '/auth/cloud/role/before', iamRole.body)
    // Vault's clients send PUT
    const enabled = await host.api('PUT', `${R}/primary/enable`, {
      primary_cluster_addr: 'east.example.com/',
    })
    expect([enabled.status, enabled.body.data, enabled.body.warnings]).toEqual([
      200,
      null,
      [expect.stringContaining('becoming a DR primary')],
    ])
    const first = await status()
    expect(first).toMatchObject({
      mode: 'primary',
      state: 'running',
      primary_cluster_addr: 'https://east.example.com',
      known_secondaries: [],
      reindex_in_progress: true,
    })
    expect((await host.api('POST', '/auth/cloud/role/after', iamRole.body)).status).toBe(204)
    expect(await status()).toMatchObject({ last_wal: expect.any(Number) })
    for (const name of ['before', 'after'])
      expect((await host.api('GET', `/auth/cloud/role/${name}`)).status).toBe(200)
    expect((await host.api('GET', '/sys/health')).body).toMatchObject({ replication_dr_mode: 'primary' })
    expect(auditText(host.directory)).toContain('"event":"primary-enabled"')
  })

  test('can only change its address by a repeated request', async () => {
    await post('/primary/enable')
    const again = await post('/primary/enable')
    expect([again.status, again.body.errors]).toEqual([
      400,
      [
        'this cluster is a DR primary already; give another primary_cluster_addr to change only the address, or make tokens for its secondaries by POST sys/replication/dr/primary/secondary-token',
      ],
    ])
    const before = await status()
    expect((await post('/primary/enable', { primary_cluster_addr: 'https://lb.example' })).status).toBe(200)
    expect(await status()).toEqual({ ...before, primary_cluster_addr: 'https://lb.example' })
    expect((await post('/primary/enable', { primary_cluster_addr: 'https://lb.example' })).status).toBe(400)
    expect((await post('/primary/enable', { primary_cluster_addr: 'http://lb.example' })).status).toBe(400)
  })

  test('by concurrent requests becomes a primary once', async () => {
    const replies = await Promise.all(Array.from({ length: 16 }, () => post('/primary/enable')))
    const codes = replies.map(reply => reply.status)
    expect(codes.filter(code => code === 200)).toHaveLength(1)
    expect(codes.every(code => [200, 400, 503].includes(code))).toBe(true)
    expect((await host.api('POST', '/auth/cloud/role/works', iamRole.body)).status).toBe(204)
  })

  test('lists each secondary from the creation of its activation token until its revocation', async () => {
    await post('/primary/enable')
    const wrapped = await post('/primary/secondary-token', { id: 'west' })
    expect(wrapped.body).toMatchObject({ data: null, wrap_info: { ttl: 1800 } })
    const activation = readActivationClaims(wrapped.body.wrap_info.token)
    expect(activation).toMatchObject({ id: 'west', addr: 'http://service.test' })
    const publicKey = formatLinkPublicKeys(
      linkPublicKeysOf(parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))),
    )
    const sealed = await post('/primary/secondary-token', {
      id: 'south',
      secondary_public_key: publicKey,
      ttl: '1h',
    })
    expect(sealed.body.data.token).toMatch(/^[\w+/=-]+$/)
    const taken = await post('/primary/secondary-token', { id: 'west' })
    expect([taken.status, taken.body.errors[0]]).toEqual([
      400,
      expect.stringContaining('west exists already'),
    ])
    const known = await status()
    expect(known).toMatchObject({ known_secondaries: ['west', 'south'], cluster_id: activation?.set })
    // revoking an unused token gives no warning; a repeated revocation returns the time of the first
    // revocation
    for (const status of [204, 200])
      expect((await post('/primary/revoke-secondary', { id: 'west' })).status).toBe(status)
    expect(await status()).toMatchObject({ known_secondaries: ['south'] })
    expect((await post('/primary/secondary-token', { id: 'west' })).status).toBe(200)
    const audit = auditText(host.directory)
    for (const secret of [wrapped.body.wrap_info.token, sealed.body.data.token])
      expect(audit).not.toContain(secret)
    expect(audit).toContain('"event":"revocation"')
    const key = await post('/secondary/generate-public-key')
    expect([key.status, key.body.errors[0]]).toEqual([400, expect.stringContaining('is a DR primary')])
  })

  test('and is disabled again deletes its set, and keeps its items', async () => {
    await post('/primary/enable')
    await post('/primary/secondary-token', { id: 'west' })
    await host.api('POST', '/auth/cloud/role/kept', iamRole.body)
    const before = await status()
    const disabled = await post('/primary/disable')
    expect([disabled.status, disabled.body.data, disabled.body.warnings]).toEqual([
      200,
      null,
      [expect.stringContaining('switched off')],
    ])
    expect(await status()).toEqual({ mode: 'disabled' })
    expect((await host.api('GET', '/auth/cloud/role/kept')).status).toBe(200)
    expect((await host.api('POST', '/auth/cloud/role/plain', iamRole.body)).status).toBe(204)
    for (const path of ['/primary/disable', '/primary/secondary-token', '/primary/revoke-secondary']) {
      const { status: code, body } = await post(path, { id: 'x' })
      expect([code, body.errors[0]]).toEqual([
        400,
        expect.stringContaining('the mode of this cluster is disabled'),
      ])
    }
    expect((await post('/primary/enable')).status).toBe(200)
    const after = await status()
    expect(after).toMatchObject({ known_secondaries: [] })
    expect('cluster_id' in after && 'cluster_id' in before && after.cluster_id === before.cluster_id).toBe(
      false,
    )
  })
})

test('authorised callers can create keys for the next link, and each call deletes the earlier keys', async () => {
  const first = await post('/secondary/generate-public-key')
  const second = await post('/secondary/generate-public-key')
  expect(first.body.data.secondary_public_key).not.toBe(second.body.data.secondary_public_key)
  expect((await host.api('POST', `${R}/secondary/generate-public-key`, {}, { token: '' })).status).toBe(403)
})
