import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { filled, ways } from '../../support/requests/endpoints.ts'
import { HOME, launch, loginAs, pkcs7Of, signedBy } from '../../support/requests/logins.ts'
import { ec2Role, iamRole } from '../../support/requests/things.ts'
import { auditEntries, auditOf, auditText } from '../../support/service/audit.ts'
import {
  api,
  cluster,
  done,
  fresh,
  freshMount,
  localCertificate,
  tokenWith,
} from '../../support/service/cluster.ts'

let mount = ''
let accessor = ''
beforeAll(async () => {
  ;({ path: mount, accessor } = await freshMount())
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
})

const hashOf = async (input: string): Promise<string> =>
  (await done('POST', '/sys/audit-hash/file', { input })).body.data.hash

describe('every audited request leaves two entries', () => {
  test('with client, operation, path, address and outcome', async () => {
    const path = `${mount}/role/${fresh('r')}`
    const token = await tokenWith(`path "${path.slice(1)}" { capabilities = ["create"] }`, {
      meta: { team: 'a' },
    })
    const { headers } = await done('POST', path, { ...iamRole.body, unknown: 'x' }, { token })
    const [request, response] = auditOf(path)
    const common = {
      request: {
        id: headers['x-request-id'],
        gateway_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: 'write',
        path: path.slice(1),
        remote_address: '127.0.0.1',
        mount_accessor: accessor,
        mount_type: 'cloud',
        client_token: await hashOf(token),
        data: iamRole.body,
        unknown: { count: 1, hmac: await hashOf('{"unknown":"x"}') },
      },
      auth: expect.objectContaining({
        display_name: 'token',
        metadata: { team: 'a' },
        token_type: 'service',
      }),
    }
    expect(request).toEqual({ audit: 'request', time: expect.stringMatching(/Z$/), ...common })
    expect(response).toEqual({ audit: 'response', time: expect.any(String), ...common, response: {} })
    expect(response?.request.id).toBe(request?.request.id)
  })

  // each row has its own source address, because other tests call the same paths
  const audited = ways
    .filter(({ endpoint: { unaudited } }) => !unaudited)
    .map((way, index) => ({ ...way, from: `127.77.0.${index + 1}` }))
  test.each(audited)('for $title', async ({ endpoint, path: template, from }) => {
    const path = filled(template, mount)
    const { status } = await api(endpoint.method, path, undefined, { token: `hvs.${fresh()}`, from })
    const [request, response, ...more] = auditOf(path.replace(/denylist\/.*|blacklist\/.*/, '')).filter(
      entry => entry.request?.remote_address === from,
    )
    expect(more).toEqual([])
    expect([request?.audit, response?.audit]).toEqual(['request', 'response'])
    expect(response?.request).toEqual(request?.request)
    if (status === 403) expect(response).toMatchObject({ error: 'invalid_token', response: { status: 403 } })
  })

  test('for missing paths and denied requests, with the reason that the answer leaves out', async () => {
    const path = `${mount}/no-such-thing`
    await api('GET', path)
    await api('GET', path, undefined, { token: '' })
    expect(auditOf(path).map(({ audit, error, reason }) => [audit, error, reason?.why])).toEqual([
      ['request', undefined, undefined],
      ['response', 'unsupported_path', undefined],
      ['request', 'permission_denied', 'token-missing'],
      ['response', 'permission_denied', 'token-missing'],
    ])
  })

  test('with parameters in clear that the tuning of the mount lists', async () => {
    const one = (await freshMount()).path
    const role = `${one}/role/${fresh('r')}`
    await done('POST', role, { ...ec2Role.body, role_tag: 'tag' })
    await done('POST', `/sys${one}/tune`, {
      audit_non_hmac_request_keys: 'unknown',
      audit_non_hmac_response_keys: ['tag_value'],
    })
    const { body } = await done('POST', `${role}/tag`, { unknown: 'x', other: 'y' })
    expect(auditOf(`${role}/tag`)[1]).toMatchObject({
      request: { data: { unknown: 'x' }, unknown: { count: 1, hmac: await hashOf('{"other":"y"}') } },
      response: { data: { tag_value: body.data.tag_value } },
    })
    await done('POST', `/sys${one}/tune`, {
      audit_non_hmac_request_keys: [],
      audit_non_hmac_response_keys: [],
    })
    await done('POST', `${role}/tag`, { unknown: 'x' })
    const later = auditOf(`${role}/tag`).at(-1)
    expect(later?.request.data).toEqual({})
    expect(later?.request.unknown).toEqual({ count: 1, hmac: await hashOf('{"unknown":"x"}') })
    expect(later?.response?.data.tag_value).toMatch(/^hmac-sha256:/)
  })

  test('with parameters in clear that the tuning of the token store lists, except tokens', async () => {
    const tune = (keys: string[]) =>
      api('POST', '/sys/auth/token/tune', { audit_non_hmac_request_keys: keys })
    expect((await tune(['token'])).status).toBe(400)
    const shown = fresh('shown')
    expect((await tune([shown])).status).toBe(204)
    await api('POST', '/auth/token/renew-self', { [shown]: 'x' })
    await tune([])
    const entry = auditOf('/auth/token/renew-self').find(
      ({ request }) => request.data && shown in request.data,
    )
    expect(entry?.request.data).toEqual({ [shown]: 'x' })
  })

  test('except probes such as sys/health', async () => {
    const paths = ways.flatMap(({ endpoint, path }) => (endpoint.unaudited ? [path] : []))
    expect([...new Set(paths)].sort()).toEqual([
      '/sys/health',
      '/sys/init',
      '/sys/leader',
      '/sys/replication/dr/status',
      '/sys/replication/performance/status',
      '/sys/replication/status',
      '/sys/seal-status',
    ])
    for (const path of paths) {
      const before = auditOf(path).length
      await api('GET', path, undefined, { token: '' })
      expect(auditOf(path)).toHaveLength(before)
    }
  })

  test('for the initialisation of this cluster', () => {
    const [request, response] = auditEntries()
    for (const entry of [request, response])
      expect(entry?.request).toMatchObject({ operation: 'write', path: 'sys/init' })
    expect([request?.audit, response?.audit]).toEqual(['request', 'response'])
    expect(response?.response).toEqual({})
  })
})

describe('a very large request still leaves its audit entries', () => {
  const long = (length: number) => 'x'.repeat(length)
  /** Returns the entries of a request, by the ID in its answer. */
  const entriesOf = ({ headers }: { headers: Record<string, string> }) =>
    auditEntries().filter(entry => entry.request?.id === headers['x-request-id'])

  test('with a policy of 70 KB', async () => {
    const policy = `path "a" {}\n# ${long(70_000)}`
    const reply = await done('POST', `/sys/policies/acl/${fresh('p')}`, { policy })
    const [request, response] = entriesOf(reply)
    expect(request?.request.data.policy).toEqual({ length: policy.length, hmac: await hashOf(policy) })
    expect(response?.audit).toBe('response')
  })

  test('with a token whose display name has 300 KB', async () => {
    const made = await api('POST', '/auth/token/create', { display_name: long(300_000), policies: 'default' })
    expect(entriesOf(made)).toHaveLength(2)
    const token: string = made.body?.auth?.client_token ?? ''
    const used = await api('GET', '/auth/token/lookup-self', undefined, { token })
    expect(entriesOf(used).map(({ audit }) => audit)).toEqual(['request', 'response'])
  })

  test('with a parameter name of 900 KB, or nine thousand parameters', async () => {
    for (const body of [
      { [long(900_000)]: 'x' },
      Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`${long(80)}${index}`, 'x'])),
    ]) {
      const reply = await api('POST', `${mount}/role/${fresh('r')}`, { ...iamRole.body, ...body })
      const [request, response] = entriesOf(reply)
      expect(request?.request.unknown).toEqual({
        count: Object.keys(body).length,
        hmac: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/),
      })
      expect(response?.audit).toBe('response')
    }
  })

  test('and no entry is larger than 32 KiB', () => {
    for (const line of auditText().split('\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(32 * 1024)
  })
})

describe('a token sent in the wrong place', () => {
  test.each([
    ['POST', '/auth/token/lookup/:token'],
    ['GET', '/auth/token/lookup/:token'],
    ['POST', '/auth/token/renew/:token'],
    ['PUT', '/auth/token/revoke/:token'],
    ['POST', '/auth/token/revoke-orphan/:token'],
    ['POST', '/auth/token/revoke-prefix/:token'],
    ['POST', '/auth/token/lookup-accessor/:token'],
    ['POST', '/auth/token/revoke-accessor/:token'],
    ['POST', '/auth/token/renew-accessor/:token'],
    ['GET', '/auth/token/:token'],
    ['POST', '/sys/revoke/:token'],
    ['POST', '/sys/wrapping/unwrap/:token'],
    ['GET', '/auth/token/lookup-self?accessor=:token'],
    ['POST', '/auth/token/lookup-accessor', 'accessor'],
    ['POST', '/auth/token/renew-accessor', 'accessor'],
    ['POST', '/auth/token/revoke-accessor', 'accessor'],
  ])('never appears in clear in a log: %s %s', async (method, template, name?: string) => {
    for (const prefix of ['chosen-', 'hvs.']) {
      const token = `${prefix}${fresh()}${fresh()}`
      const path = template.replace(':token', token)
      const { headers } = await api(method, path, name ? { [name]: token } : undefined)
      const entries = auditEntries().filter(entry => entry.request?.id === headers['x-request-id'])
      expect(entries).toHaveLength(2)
      if (name) expect(entries[0]?.request.data[name]).toBe(await hashOf(token))
      for (const file of ['audit.log', 'functions.log'])
        expect(readFileSync(`${cluster.directory}/${file}`, 'utf8')).not.toContain(token)
    }
  })
})

describe("secrets appear in the audit log only as HMACs, and never in the functions' log: CVE-2024-0831, CVE-2024-8365, CVE-2025-62513, CVE-2025-62705", () => {
  /** Collects secrets by name. */
  function memory() {
    const secrets: Record<string, string> = { 'the root token': cluster.root_token }
    const remember = (name: string, secret: unknown): string => {
      expect(secret, name).toEqual(expect.stringMatching(/.{8}/))
      secrets[name] = String(secret)
      return secrets[name]
    }
    return { secrets, remember }
  }

  /** Expects that no log contains a secret in clear, and that the audit log has the HMACs of `hashed`. */
  async function expectHidden(secrets: Record<string, string>, hashed: readonly string[]): Promise<void> {
    for (const file of ['audit.log', 'functions.log']) {
      const text = readFileSync(`${cluster.directory}/${file}`, 'utf8')
      for (const [name, secret] of Object.entries(secrets))
        for (const spelling of spellingsOf(secret))
          expect(text.includes(spelling), `${name} in ${file}`).toBe(false)
    }
    for (const secret of hashed) expect(auditText()).toContain(await hashOf(secret))
  }

  test('from logins', async () => {
    const { secrets, remember } = memory()
    await done('POST', `${mount}/role/web`, {
      ...ec2Role.body,
      bound_account_id: HOME.account,
      ...unbound,
      token_num_uses: 0,
      token_bound_cidrs: '',
    })
    const tag = remember('a role tag', (await done('POST', `${mount}/role/web/tag`, {})).body.data.tag_value)
    const instance = await launch({ tags: { CloudRole: tag } })
    remember('a signed document', await pkcs7Of(instance))
    const { auth } = (await loginAs(mount, instance, { role: 'web' })).body
    const token = remember('a token of a login', auth.client_token)
    const nonce = remember('a generated nonce', auth.metadata.nonce)
    const again = await loginAs(mount, instance, { role: 'web', nonce })
    remember('a second token', again.body.auth.client_token)
    await loginAs(mount, instance, { role: 'web', nonce: remember('a wrong nonce', `wrong-${fresh()}`) })
    await done('GET', `${mount}/identity-accesslist/${instance.instanceId}`)
    const key = {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: remember('a secret key', `secret-${fresh()}`),
    }
    const signed = signedBy(key)
    const { Authorization } = signed['iam_request_headers'] as Record<string, string>
    remember('a signature', Authorization?.split('Signature=')[1])
    await api('POST', `${mount}/login`, { ...signed, role: 'web' }, { token: '' })
    for (const path of [tag, encodeURIComponent(tag), Buffer.from(tag).toString('base64url')]) {
      for (const method of ['POST', 'GET', 'DELETE', 'PATCH', 'OPTIONS'])
        await api(method, `${mount}/roletag-denylist/${path}`)
      await api('POST', `/auth/${fresh('no')}/roletag-denylist/${path}`)
      await api('GET', `${mount}/roletag-blacklist/${path}`, undefined, {
        headers: { 'X-Vault-Wrap-TTL': '60' },
      })
    }
    await api('POST', `${mount}/login`, {
      role: remember('a value that cannot be read', `odd-${fresh()}`),
      nonce: [],
    })
    await api('POST', `${mount}/login`, { role: [remember('a value in a list', `odd-${fresh()}`)] })
    await expectHidden(secrets, [token, nonce, tag])
  })

  test('from tokens and wrapped answers', async () => {
    const { secrets, remember } = memory()
    const wrap = { headers: { 'X-Vault-Wrap-TTL': '60' } }
    const id = remember('a chosen token', `chosen-${fresh()}`)
    await done('POST', '/auth/token/create', { id, policies: 'default', ttl: '1h' })
    const { body } = await done('POST', '/auth/token/create', {
      type: 'batch',
      policies: 'default',
      ttl: '1h',
    })
    for (const token of [id, remember('a batch token', body.auth.client_token)]) {
      await done('POST', '/auth/token/lookup', { token })
      await done('GET', `/auth/token/lookup?token=${token}`)
      await done('GET', '/auth/token/lookup-self', undefined, { token })
    }
    await api('GET', `/auth/token/lookup-self?token=${id}`)
    await api('POST', '/auth/token/create', { tokn: id, [fresh('x')]: { deep: [id] } })
    const wrapped = await done(
      'POST',
      '/sys/wrapping/wrap',
      { password: remember('what is wrapped', `inside-${fresh()}`) },
      wrap,
    )
    const first = remember('a wrapping token', wrapped.body.wrap_info.token)
    await done('POST', '/sys/wrapping/lookup', { token: first })
    const second = await done('POST', '/sys/wrapping/rewrap', { token: first })
    await done('POST', '/sys/wrapping/unwrap', {
      token: remember('another wrapping token', second.body.wrap_info.token),
    })
    const made = await done('POST', '/auth/token/create', { policies: 'default' }, wrap)
    const inside = await done('POST', '/sys/wrapping/unwrap', undefined, {
      token: remember('a third', made.body.wrap_info.token),
    })
    remember('a wrapped token', inside.body.auth.client_token)
    await done('POST', '/auth/token/renew', { token: id })
    await done('POST', '/auth/token/revoke', { token: id })
    await api('GET', '/sys/auth', undefined, { token: '', headers: { Authorization: `Bearer ${id}` } })
    await expectHidden(secrets, [id])
  })

  test('from configuration', async () => {
    const { secrets, remember } = memory()
    const secret_key = remember('a configured key', `key-${fresh()}`)
    await done('POST', `${mount}/config/client`, { access_key: 'A', secret_key })
    await api('POST', `${mount}/config/client`, { secret_key: { a: secret_key } })
    await api('POST', `${mount}/config/client`, { secretkey: secret_key })
    await api('POST', `${mount}/config/client`, { max_retries: secret_key })
    await api('POST', `${mount}/config/client`, `{"secret_key":"${secret_key}"`)
    await api('POST', `${mount}/config/rotate-root`, { secret_key })
    await done('POST', '/sys/audit-hash/file', { input: remember('an input to hash', `input-${fresh()}`) })
    await expectHidden(secrets, [secret_key])
  })
})

const unbound = {
  bound_ami_id: '',
  bound_region: '',
  bound_vpc_id: '',
  bound_subnet_id: '',
  bound_iam_role_arn: '',
  bound_iam_instance_profile_arn: '',
  bound_ec2_instance_id: '',
  bound_tags: {},
}

const spellingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64url').replace(/.$/, ''),
]
