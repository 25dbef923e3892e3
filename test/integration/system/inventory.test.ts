import { describe, expect, test } from 'vitest'
import { api, cluster, done, tokenWith } from '../../support/service/cluster.ts'

describe('inventory endpoints for command lines and graphical clients', () => {
  test('sys/audit lists no devices', async () => {
    expect((await done('GET', '/sys/audit')).body.data).toEqual({})
  })

  test('sys/ha-status lists one active node', async () => {
    const { body } = await done('GET', '/sys/ha-status')
    const leader = (await done('GET', '/sys/leader')).body.leader_address
    expect(body.data.nodes).toEqual([
      {
        hostname: 'test',
        api_address: leader,
        cluster_address: expect.any(String),
        active_node: true,
        last_echo: null,
        version: '1.19.5',
        echo_duration_ms: 0,
        clock_skew_ms: 0,
        replication_primary_canary_age_ms: 0,
      },
    ])
    expect(body.nodes).toEqual(body.data.nodes)
  })

  test('sys/version-history lists the announced version', async () => {
    const { body } = await done('LIST', '/sys/version-history')
    expect(body.data).toEqual({
      keys: ['1.19.5'],
      key_info: {
        '1.19.5': {
          build_date: '',
          previous_version: null,
          timestamp_installed: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      },
    })
  })
})

describe('sys/internal/ui/resultant-acl', () => {
  const acl = async (token: string) =>
    (await done('GET', '/sys/internal/ui/resultant-acl', undefined, { token })).body.data

  test('returns no rules for root', async () => {
    expect(await acl(cluster.root_token)).toEqual({ root: true, chroot_namespace: '' })
  })

  test('returns rules by path, except rules with a + segment', async () => {
    const token = await tokenWith(`
      path "a/exact" { capabilities = ["update", "read"] denied_parameters = { "x" = ["1"] } }
      path "b/all*" { capabilities = ["list"] min_wrapping_ttl = "10s" }
      path "c/+/d" { capabilities = ["read"] }
      path "e/none" { capabilities = ["deny"] }`)
    const { root, exact_paths, glob_paths } = await acl(token)
    expect(root).toBe(false)
    expect(exact_paths).toMatchObject({
      'a/exact': { capabilities: ['read', 'update'], denied_parameters: { x: ['1'] } },
      'e/none': { capabilities: ['deny'] },
    })
    expect(glob_paths['b/all']).toEqual({ capabilities: ['list'], min_wrapping_ttl: 10 })
    expect(Object.keys({ ...exact_paths, ...glob_paths })).not.toContain('c/+/d')
  })
})

describe('sys/generate-root-token', () => {
  const ATTEMPT = '/sys/generate-root-token/attempt'
  const verbs = (words: string) =>
    tokenWith(`path "sys/generate-root-token/*" { capabilities = ["read", "update", "delete"${words}] }`)

  test('runs the same root generation as sys/generate-root, for tokens with sudo', async () => {
    const token = await verbs(', "sudo"')
    const { body } = await done('GET', ATTEMPT, undefined, { token })
    expect(body.data).toEqual((await done('GET', '/sys/generate-root/attempt')).body.data)
    expect(body).toMatchObject(body.data)
  })

  test.each([
    ['GET', ATTEMPT],
    ['POST', ATTEMPT],
    ['DELETE', ATTEMPT],
    ['POST', '/sys/generate-root-token/update'],
  ])('rejects %s %s without sudo, and without a token', async (method, path) => {
    const body = method === 'POST' ? {} : undefined
    expect((await api(method, path, body, { token: await verbs('') })).status).toBe(403)
    expect((await api(method, path, body, { token: '' })).status).toBe(403)
  })
})

describe('sys/internal/specs/openapi', () => {
  test('returns the document in docs/ for every valid token', async () => {
    const token = await tokenWith('path "a" { capabilities = ["read"] }')
    const { body } = await done('GET', '/sys/internal/specs/openapi', undefined, { token })
    expect(body.openapi).toBe('3.1.0')
    expect(body.paths['/sys/internal/specs/openapi'].get.operationId).toBe('readOpenApi')
    expect((await api('GET', '/sys/internal/specs/openapi', undefined, { token: '' })).status).toBe(403)
  })
})
