import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { deployPair } from '../../../../infra/pair/deploy.ts'
import { joinPair } from '../../../../infra/pair/join.ts'
import { type PairPlan, parsePairPlan } from '../../../../infra/pair/settings.ts'
import { licenceKey, licenceText } from '../../../builders/licence.ts'

/** An HTTP server that imitates a cluster with a given role. */
interface Answering {
  server: Server
  address: string
  health: { status: number; mode: string }
  state: string
  /** the address that the cluster gives to secondaries */
  linkAddress: string
  asked: { path: string; token: unknown; body: unknown }[]
  /** the cluster's first failures in answer to a change, in order */
  refusals: { status: number; retryAfter?: string }[]
}

const statusOf = ({ health: { mode }, state, linkAddress }: Answering) =>
  mode === 'disabled'
    ? { mode }
    : {
        mode,
        state: mode === 'primary' ? 'running' : state,
        cluster_id: 'set',
        primary_cluster_addr: linkAddress,
        known_primary_cluster_addrs: ['https://east.example.com'],
        connection_state: 'ready',
      }

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  let text = ''
  for await (const part of request) text += String(part)
  return text === '' ? undefined : JSON.parse(text)
}

async function answering(health: Answering['health'], state = 'stream-wals'): Promise<Answering> {
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '').replace('/v1/', '')
    const body = await bodyOf(request)
    const reply = (status: number, given: object) => response.writeHead(status).end(JSON.stringify(given))
    if (path === 'sys/health') return reply(one.health.status, { replication_dr_mode: one.health.mode })
    if (path === 'sys/replication/dr/status') return reply(200, { data: statusOf(one) })
    one.asked.push({ path, token: request.headers['x-vault-token'], body })
    const { status, retryAfter } = one.refusals.shift() ?? {}
    if (status) {
      if (retryAfter) response.setHeader('retry-after', retryAfter)
      return reply(status, { errors: ['not now'] })
    }
    if (path.endsWith('primary/enable'))
      Object.assign(one, {
        state: 'running',
        health: { status: 200, mode: 'primary' },
        linkAddress: (body as { primary_cluster_addr: string }).primary_cluster_addr,
      })
    if (path.endsWith('secondary/enable'))
      Object.assign(one, { state: 'stream-wals', health: { status: 472, mode: 'secondary' } })
    return reply(200, { wrap_info: { token: 'activation' } })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const one: Answering = { server, address, health, state, linkAddress: '', asked: [], refusals: [] }
  return one
}

const key = licenceKey()
const licence = { license: licenceText(key.privateKey), licensePublicKey: key.publicKey }

let east: Answering
let west: Answering
let deployed: string[]
let said: string[]
/** The state change of a cluster at its deployment. */
let meanwhile: (name: string) => void

const certificate = (region: string) => `arn:aws:acm:${region}:111122223333:certificate/one`
const domain = (name: string, region: string) => ({
  domain: { name: `auth-${name}.example.com`, certificateArn: certificate(region) },
})
const file = () => ({
  both: { stage: 'prod', ...licence },
  clusters: {
    east: { account: '111122223333', region: 'us-east-1', settings: domain('east', 'us-east-1') },
    west: { account: '444455556666', region: 'us-west-2', settings: domain('west', 'us-west-2') },
  },
})
/** Returns the plan of a pair, with the addresses of the test's servers. */
const pair = (): PairPlan => {
  const [one, other] = parsePairPlan(file())
  return [
    { ...one, address: east.address },
    { ...other, address: west.address },
  ]
}

const around = () => ({
  say: (text: string) => void said.push(text),
  deploy: async ({ name }: { name: string }) => {
    deployed.push(name)
    meanwhile(name)
  },
  wait: async () => {},
})

beforeEach(async () => {
  ;[deployed, said, meanwhile] = [[], [], () => {}]
  east = await answering({ status: 200, mode: 'primary' })
  west = await answering({ status: 472, mode: 'secondary' })
})
afterEach(() => {
  for (const one of [east, west]) one.server.close().closeAllConnections()
})

describe('deploying a pair whose clusters answer', () => {
  test('the program observes both clusters, and deploys the secondary first', async () => {
    await deployPair(pair(), false, around())
    expect(deployed).toEqual(['west', 'east'])
    expect(said).toEqual([
      'east is primary',
      'west is following',
      'deploying west, then east: east is the primary',
      'west is following, as before',
      'east is primary, as before',
    ])
  })

  test('after a switch the program orders the clusters by role, not by the file', async () => {
    ;[east.health, west.health] = [west.health, east.health]
    await deployPair(pair(), false, around())
    expect(deployed).toEqual(['east', 'west'])
  })

  test('the program deploys nothing while both clusters are primaries', async () => {
    west.health = { status: 200, mode: 'primary' }
    await expect(deployPair(pair(), false, around())).rejects.toThrow(
      'nothing was deployed: both clusters serve',
    )
    expect(deployed).toEqual([])
  })

  test('the program does not deploy the primary if the secondary does not follow again', async () => {
    meanwhile = () => Object.assign(west, { state: 'idle' })
    await expect(deployPair(pair(), false, around())).rejects.toThrow('west was following and is behind')
    expect(deployed).toEqual(['west'])
  })

  test('the program waits for a cluster that needs time to follow again', async () => {
    meanwhile = name => Object.assign(west, { state: name === 'west' ? 'idle' : 'stream-wals' })
    let looks = 0
    const wait = async () => {
      looks += 1
      if (looks === 3) west.state = 'stream-wals'
    }
    await deployPair(pair(), false, { ...around(), wait })
    expect([deployed, looks]).toEqual([['west', 'east'], 3])
  })

  test('the program does not wait for an absent cluster to answer, because its name may not resolve yet', async () => {
    for (const one of [east, west]) one.server.close().closeAllConnections()
    await deployPair(pair(), false, around())
    expect(deployed).toEqual(['east', 'west'])
  })
})

describe('joining a pair', () => {
  const joining = (typed: string) => ({
    ...around(),
    question: async () => typed,
    tokens: { primary: 'of-east', secondary: 'of-west' },
  })
  beforeEach(() => {
    east.health = { status: 200, mode: 'disabled' }
    west.health = { status: 200, mode: 'disabled' }
    west.state = ''
  })

  test("the program asks for the name of the cluster that loses its data, then sends the runbook's requests with the right tokens", async () => {
    await joinPair(pair(), 'west', joining('west\n'))
    expect(east.asked).toEqual([
      {
        path: 'sys/replication/dr/primary/enable',
        token: 'of-east',
        body: { primary_cluster_addr: east.address },
      },
      {
        path: 'sys/replication/dr/primary/secondary-token',
        token: 'of-east',
        body: { id: 'west', replace: true },
      },
    ])
    expect(west.asked).toEqual([
      { path: 'sys/replication/dr/secondary/enable', token: 'of-west', body: { token: 'activation' } },
    ])
    expect(said.at(-1)).toBe('west follows east')
  })

  test('the program repeats requests with Retry-After, and stops at a refusal', async () => {
    east.refusals = [
      { status: 503, retryAfter: '0' },
      { status: 503, retryAfter: '0' },
    ]
    await joinPair(pair(), 'west', joining('west'))
    expect(east.asked.map(({ path }) => path.split('/').at(-1))).toEqual([
      ...Array(3).fill('enable'),
      'secondary-token',
    ])
    west.health = { status: 200, mode: 'disabled' }
    west.refusals = [{ status: 400 }]
    await expect(joinPair(pair(), 'west', joining('west'))).rejects.toThrow('enable on west: 400 not now')
  })

  test('the program resumes an interrupted join without repeating requests', async () => {
    Object.assign(east, { health: { status: 200, mode: 'primary' }, linkAddress: east.address })
    await joinPair(pair(), 'west', joining('west'))
    expect(east.asked.map(({ path }) => path.split('/').at(-1))).toEqual(['secondary-token'])
    const asked = [...east.asked, ...west.asked]
    await joinPair(pair(), 'west', joining('is not asked for'))
    expect([...east.asked, ...west.asked]).toEqual(asked)
    expect(said.at(-1)).toBe('west follows east')
  })

  test('the program changes nothing if a cluster is not initialised', async () => {
    west.health = { status: 501, mode: 'disabled' }
    await expect(joinPair(pair(), 'west', joining('west'))).rejects.toThrow('west is not initialised')
    expect([...east.asked, ...west.asked]).toEqual([])
  })

  test.each(['east', '', 'y'])('the program changes nothing if the operator types %j', async typed => {
    await expect(joinPair(pair(), 'west', joining(typed))).rejects.toThrow('nothing was changed')
    expect([...east.asked, ...west.asked]).toEqual([])
  })

  test('the program changes nothing if the joining cluster is a primary', async () => {
    west.health = { status: 200, mode: 'primary' }
    await expect(joinPair(pair(), 'west', joining('west'))).rejects.toThrow('west is the primary')
    expect([...east.asked, ...west.asked]).toEqual([])
  })
})

describe('the settings file of a pair', () => {
  test("the file gives each cluster the peer's address, and gives both clusters the licence", () => {
    const drill = { schedule: 'rate(7 days)', policy: 'drill' }
    const [one, other] = parsePairPlan({ ...file(), drill })
    expect([one.settings.drill?.peer, other.settings.drill?.peer]).toEqual([
      'https://auth-west.example.com',
      'https://auth-east.example.com',
    ])
    expect([one.address, one.settings.clusterName]).toEqual(['https://auth-east.example.com', 'east'])
    expect(one.settings.license).toBe(other.settings.license)
  })

  type Change = (given: ReturnType<typeof file>) => void
  const changed = (change: Change) => {
    const given = file()
    change(given)
    return () => parsePairPlan(given)
  }
  test.each([
    [
      'one cluster',
      given => void Reflect.deleteProperty(given.clusters, 'west'),
      'must have exactly two clusters',
    ],
    ['no licence', given => void Object.assign(given, { both: { stage: 'prod' } }), 'has no licence'],
    [
      'no address',
      given => void Object.assign(given.clusters.west, { settings: {} }),
      'west: domain or apiAddress',
    ],
    [
      'one place',
      given => void Object.assign(given.clusters.west, { account: '111122223333', region: 'us-east-1' }),
      'both clusters have the same account and region',
    ],
    [
      'an unknown setting',
      given => void Object.assign(given.both, { colour: 'red' }),
      'east: the settings are not usable',
    ],
  ] as [string, Change, string][])('a file with %s is refused', (_, change, why) =>
    expect(changed(change)).toThrow(why),
  )
})
