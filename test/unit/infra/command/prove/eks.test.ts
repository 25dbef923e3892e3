import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { STSClient } from '@aws-sdk/client-sts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAwsCalls } from '../../../../../infra/command/prove/aws-calls.ts'
import { createEksToken, findEksCluster } from '../../../../../infra/command/prove/eks.ts'
import { createLocalAuthority } from '../../../../../infra/local/gateway/tls.ts'

const region = 'eu-west-1'
const credentials = async () => ({
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'secret',
  sessionToken: 'ses+si/on==',
})

/** The signer of the SDK. */
interface Presigner {
  presign(request: object, options: object): Promise<{ query: object }>
}

describe('the bearer token', () => {
  test('is a presigned request that equals the request of the SDK', async () => {
    const now = Date.UTC(2026, 10, 27)
    const token = await createEksToken('shop-1', { region, credentials }, now)
    const [, encoded = ''] = /^k8s-aws-v1\.([\w-]+)$/.exec(token) ?? []
    const url = new URL(Buffer.from(encoded, 'base64url').toString())
    const scheme = { name: 'sigv4', signingName: 'sts', signingRegion: region, properties: {} }
    const signer = (await new STSClient({ region, credentials }).config.signer(
      scheme,
    )) as unknown as Presigner
    const request = {
      method: 'GET',
      protocol: 'https:',
      hostname: 'sts.eu-west-1.amazonaws.com',
      path: '/',
      headers: { host: 'sts.eu-west-1.amazonaws.com', 'x-k8s-aws-id': 'shop-1' },
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
    }
    const unhoistableHeaders = new Set(['x-k8s-aws-id'])
    const options = { expiresIn: 60, signingDate: new Date(now), unhoistableHeaders }
    const { query } = await signer.presign(request, options)
    expect(url.origin).toBe('https://sts.eu-west-1.amazonaws.com')
    expect(Object.fromEntries(url.searchParams)).toEqual(query)
    expect(url.searchParams.get('X-Amz-SignedHeaders')).toBe('host;x-k8s-aws-id')
  })

  test('has the name of STS in China', async () => {
    const token = await createEksToken('shop-1', { region: 'cn-north-1', credentials })
    expect(Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString()).toMatch(
      /^https:\/\/sts\.cn-north-1\.amazonaws\.com\.cn\/\?/,
    )
  })
})

let server: Server
let answer: [status: number, body: object, headers?: Record<string, string>]
let requests: string[]
beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const [status, body, headers] = answer
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void server.close())
beforeEach(() => {
  requests = []
})

const find = () => {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const calls = createAwsCalls({ region, endpoint, credentials })
  return findEksCluster('shop-1', { region, credentials, calls })
}

const ca = createLocalAuthority('a cluster').cert
const described = {
  status: 'ACTIVE',
  endpoint: 'https://0123.gr7.eu-west-1.eks.amazonaws.com',
  certificateAuthority: { data: Buffer.from(ca).toString('base64') },
}

describe('findEksCluster', () => {
  test('returns the endpoint and the CA of the cluster', async () => {
    answer = [200, { cluster: described }]
    const found = await find()
    expect(requests).toEqual(['GET /clusters/shop-1'])
    expect(found).toMatchObject({ endpoint: described.endpoint })
    expect(found?.ca.trim()).toBe(ca.trim())
    expect(await found?.createToken()).toMatch(/^k8s-aws-v1\./)
  })

  test('returns nothing if no cluster has the name', async () => {
    answer = [404, { message: 'No cluster found' }, { 'x-amzn-errortype': 'ResourceNotFoundException' }]
    expect(await find()).toBeUndefined()
  })

  test.each([
    ['a cluster that is being made', { ...described, status: 'CREATING' }, 'is not active'],
    ['a plain endpoint', { ...described, endpoint: 'http://0123.example.com' }, 'https endpoint'],
    ['no endpoint', { ...described, endpoint: undefined }, 'has no endpoint'],
    ['no CA', { ...described, certificateAuthority: {} }, 'has no data'],
    ['a malformed CA', { ...described, certificateAuthority: { data: 'eA==' } }, /./],
    ['no cluster', undefined, 'is not active'],
  ])('refuses %s', async (_, cluster, message) => {
    answer = [200, { cluster }]
    await expect(find()).rejects.toThrow(message)
  })

  test('throws a refusal of EKS', async () => {
    answer = [403, { message: 'denied' }, { 'x-amzn-errortype': 'AccessDeniedException' }]
    await expect(find()).rejects.toThrow('eks: AccessDeniedException: denied')
  })
})
