import { execFileSync } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createIamLoginProof } from '../../../../infra/command/login/caller-request.ts'
import { fetchEc2LoginProof, metadataServiceUrl } from '../../../../infra/command/login/instance-document.ts'
import { checkLoginOptions } from '../../../../infra/command/login/proofs.ts'
import { formatShellExports } from '../../../../infra/command/login/runs.ts'
import { runTokenHelper } from '../../../../infra/command/login/token-helper.ts'
import { closedPort, webServer } from '../../../support/service/server.ts'

const BASE = 'https://auth.example.com/v1'

describe('the options of the command login', () => {
  test('options have defaults and override the defaults', () => {
    expect(checkLoginOptions(BASE, {}, {})).toEqual({
      base: BASE,
      mount: 'cloud',
      method: 'iam',
      document: 'rsa2048',
    })
    const values = { mount: '/auth/aws/', role: 'app', region: 'eu-west-1', 'header-value': 'id' }
    expect(checkLoginOptions(BASE, values, { CLOUD_AUTH_NONCE: 'n' })).toMatchObject({
      mount: 'aws',
      role: 'app',
      region: 'eu-west-1',
      headerValue: 'id',
      nonce: 'n',
    })
  })

  test.each([
    [{ mount: 'a b' }, '--mount'],
    [{ mount: '../sys' }, '--mount'],
    [{ mount: 'x?list' }, '--mount'],
    [{ method: 'azure' }, '--method'],
    [{ region: 'evil.example.com' }, '--region'],
    [{ document: 'toString' }, '--document'],
  ])('%j', (values, option) => {
    expect(() => checkLoginOptions(BASE, values, {})).toThrow(option)
  })
})

describe('the signed STS request of the command login', () => {
  const headersOf = (proof: Record<string, string>) =>
    JSON.parse(Buffer.from(proof['iam_request_headers'] ?? '', 'base64').toString())

  test.each([
    [undefined, 'sts.amazonaws.com', 'us-east-1'],
    ['eu-west-1', 'sts.eu-west-1.amazonaws.com', 'eu-west-1'],
    ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
  ])("a request for the region %s goes to the region's endpoint", async (region, host, scope) => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'x')
    onTestFinished(() => void vi.unstubAllEnvs())
    const proof = await createIamLoginProof({ ...(region ? { region } : {}), headerValue: 'our-server' })
    expect(Buffer.from(proof['iam_request_url'] ?? '', 'base64').toString()).toBe(`https://${host}/`)
    expect(headersOf(proof)).toMatchObject({
      Host: host,
      'X-Vault-AWS-IAM-Server-ID': 'our-server',
      Authorization: expect.stringMatching(
        new RegExp(`Credential=AKIDEXAMPLE/\\d{8}/${scope}/sts/aws4_request, .*;x-vault-aws-iam-server-id,`),
      ),
    })
  })
})

describe('credentials from the metadata service of EC2', () => {
  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['never ends', response => response.write(Buffer.alloc(2 ** 20)), /too large/],
    [
      'leads elsewhere',
      response => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
      /answered 302/,
    ],
    [
      'is an error',
      response => response.writeHead(404).end('\x1b[2J'),
      /answered 404 for \/latest\/api\/token$/,
    ],
  ])('the metadata service is rejected if its answer %s', async (_, answer, text) => {
    const { url } = await webServer(onTestFinished, (_, response) => void answer(response))
    const variables = { AWS_EC2_METADATA_SERVICE_ENDPOINT: url }
    await expect(fetchEc2LoginProof('pkcs7', variables)).rejects.toThrow(text)
  })

  test.each([
    [{}, 'http://169.254.169.254'],
    [{ AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: 'IPv6' }, 'http://[fd00:ec2::254]'],
    [{ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1338/' }, 'http://127.0.0.1:1338'],
  ])('%j', (environment, url) => expect(metadataServiceUrl(environment)).toBe(url))

  test('a disabled metadata service is not called, and its absence is reported', async () => {
    const forbidden = fetchEc2LoginProof('pkcs7', { AWS_EC2_METADATA_DISABLED: 'true' })
    await expect(forbidden).rejects.toMatchObject({ exit: 'refused' })
    const nowhere = { AWS_EC2_METADATA_SERVICE_ENDPOINT: await closedPort() }
    await expect(fetchEc2LoginProof('pkcs7', nowhere)).rejects.toMatchObject({ exit: 'unreachable' })
  })
})

test('export lines give a real shell the same values, with any characters', () => {
  const special = fc.constantFrom(...'\'"$`\\\n\t ;&|<>()*?!#~{}=a')
  const any = fc.string({ unit: 'binary' }).filter(text => text.isWellFormed() && !/[\0\r]/.test(text))
  const value = fc.oneof(fc.string({ unit: special }), any)
  fc.assert(
    fc.property(fc.array(value, { minLength: 50, maxLength: 50 }), values => {
      const names = values.map((_, index) => `V${index}`)
      const lines = formatShellExports(Object.fromEntries(names.map((name, index) => [name, values[index]])))
      const told = execFileSync('sh', [
        '-c',
        `${lines}\nprintf '%s\\0' ${names.map(name => `"$${name}"`).join(' ')}`,
      ])
      expect(told.toString().split('\0').slice(0, -1)).toEqual(values)
    }),
    { numRuns: 5 },
  )
  expect(formatShellExports({ A: undefined })).toBe('')
})

describe('the token helper', () => {
  const helper = async (
    word: string,
    status = 200,
    { token }: { token?: string } = { token: 'hvs.mine' },
  ) => {
    const { url, requests } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(status).end('{"errors":["x"]}')
    })
    const done: string[] = []
    const ports = {
      base: url,
      connection: { timeoutMs: 5000 },
      token,
      logIn: async () => {
        done.push('login')
        return 'hvs.new'
      },
      drain: async () => void done.push('drained'),
    }
    const text = await runTokenHelper(word.split(' '), ports)
    return { text, done, asked: requests.map(({ url: path, headers }) => [path, headers['x-vault-token']]) }
  }

  test("the helper's get returns the stored token while that token is valid", async () => {
    expect(await helper('get')).toEqual({
      text: 'hvs.mine',
      done: [],
      asked: [['/auth/token/lookup-self', 'hvs.mine']],
    })
  })

  test("the helper's get logs in if the token is invalid or missing", async () => {
    expect(await helper('get', 403)).toMatchObject({ text: 'hvs.new', done: ['login'] })
    expect(await helper('get', 200, {})).toEqual({ text: 'hvs.new', done: ['login'], asked: [] })
  })

  test("the helper's get does not log in again if the cluster answers 5xx", async () => {
    await expect(helper('get', 500)).rejects.toThrow('lookup-self: 500 x')
  })

  test("the helper's store reads its input, erase does nothing, and neither command prints anything", async () => {
    expect(await helper('store')).toEqual({ text: '', done: ['drained'], asked: [] })
    expect(await helper('erase')).toEqual({ text: '', done: [], asked: [] })
  })

  test.each(['', 'list', 'get store'])('%j is rejected', async words => {
    await expect(helper(words)).rejects.toMatchObject({ exit: 'usage' })
  })
})
