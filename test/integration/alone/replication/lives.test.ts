import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Endpoint } from '../../../../shared/api/endpoint.ts'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { endpointGroups } from '../../../../shared/endpoints/all.ts'
import type { ClusterMode } from '../../../../shared/model/cluster.ts'
import { filledPath, sensibleBody, sensibleToken } from '../../../support/requests/sensible-calls.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// One cluster goes through all modes, on the engine, with the policies of its functions. The environments of the
// cluster stay warm all the time. In each mode the test calls every endpoint. Items stored in one mode are used in
// later modes.

const DR = '/sys/replication/dr'

let set: ClusterSet
/** DR operation token, valid while west is the secondary on which the token was made */
let operator = ''

const west = () => set.at('west')
/** Waits a few minutes until background work has ended. */
async function rest(): Promise<void> {
  for (let minutes = 0; minutes < 3; minutes++) {
    await set.settled()
    set.pass(60_000)
    await set.tick()
  }
  await set.settled()
}

/** Makes a token on west with three shares of a set. */
async function operationToken(sharesOf: string): Promise<string> {
  const call = (path: string, body: object) =>
    west().ok('PUT', `${DR}/secondary/generate-operation-token/${path}`, body, { token: '' })
  const { nonce, otp } = (await call('attempt', {})).body
  let encoded = ''
  for (const key of set.at(sharesOf).shares.slice(0, 3))
    encoded = (await call('update', { nonce, key })).body.encoded_token
  return unmaskToken(encoded, otp) ?? ''
}

const joining = (primary: string) => async () => {
  await set.join('west', primary)
  await set.converge('west')
  operator = await operationToken(primary)
}

const changing = (path: string) => async () => {
  await west().ok('POST', `${DR}/${path}`)
  await rest()
}

/** Makes a DR operation token on west. @param sharesOf the primary whose set west is in */
const operating = (path: string, sharesOf: string) => async () => {
  const dr_operation_token = await operationToken(sharesOf)
  await west().ok('POST', `${DR}/${path}`, { dr_operation_token }, { token: '' })
  await rest()
}

interface Life {
  name: string
  begins: () => Promise<void>
  mode: ClusterMode
  /** minimum number of endpoints that succeed */
  works: number
}

/** in order, because each mode begins from the previous mode */
const lives: readonly Life[] = [
  { name: 'a primary', mode: 'primary', works: 80, begins: changing('primary/enable') },
  {
    name: 'a cluster that has ended its set',
    mode: 'disabled',
    works: 80,
    begins: changing('primary/disable'),
  },
  { name: 'a secondary of east', mode: 'secondary', works: 10, begins: joining('east') },
  {
    name: 'a cluster that has left that set',
    mode: 'disabled',
    works: 80,
    begins: operating('secondary/disable', 'east'),
  },
  { name: 'a secondary of north', mode: 'secondary', works: 10, begins: joining('north') },
  {
    name: 'the primary of that set',
    mode: 'primary',
    works: 80,
    begins: operating('secondary/promote', 'north'),
  },
  { name: 'a primary that was demoted', mode: 'secondary', works: 10, begins: changing('primary/demote') },
]

/**
 * For each endpoint that ends a mode: the modes in which the test does not call the endpoint. The call of the
 * endpoint begins the next mode.
 */
const ends: Readonly<Record<string, readonly ClusterMode[]>> = {
  'primary/enable': ['disabled'],
  'primary/disable': ['primary'],
  'primary/demote': ['primary', 'secondary'],
  'secondary/enable': ['disabled'],
  'secondary/disable': ['secondary'],
  'secondary/promote': ['secondary'],
  'secondary/update-primary': ['secondary'],
}

const endsLife = ({ path }: Endpoint, mode: ClusterMode): boolean =>
  Object.entries(ends).some(([end, modes]) => path === `${DR}/${end}` && modes.includes(mode))

/** The order of methods, which reads items before it deletes them. */
const ORDER: readonly Endpoint['method'][] = ['POST', 'GET', 'LIST', 'DELETE']

/** Calls an endpoint with sufficient rights. */
async function answerOf(endpoint: Endpoint): Promise<{ call: string; status: number; text: string }> {
  const { method, path } = endpoint
  const caller = { operator, member: west() }
  const body = await sensibleBody(endpoint, caller)
  const token = await sensibleToken(endpoint, caller)
  const headers: Record<string, string> = path === '/sys/wrapping/wrap' ? { 'x-vault-wrap-ttl': '60' } : {}
  const { status, text } = await west().request(method, filledPath(path), body, { token, headers })
  return { call: `${method} ${path}`, status, text }
}

beforeAll(async () => {
  set = await clusterSet(['west', 'east', 'north'], { memory: false })
  for (const name of ['east', 'north']) await set.enable(name)
})
afterAll(() => set.drop())

describe.each(lives)('a cluster as $name', ({ begins, mode, works }) => {
  test('is in the mode of the test, and leaves no role change unfinished', async () => {
    await begins()
    const { operation, mode: is } = await west().record()
    expect([is, operation]).toEqual([mode, undefined])
  })

  test('answers no endpoint with a 5xx status', async () => {
    const endpoints = endpointGroups
      .flatMap(group => group.endpoints)
      .filter(one => !endsLife(one, mode))
      .sort((a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method))
    expect(endpoints.length).toBeGreaterThan(100)
    const answers: Awaited<ReturnType<typeof answerOf>>[] = []
    for (const endpoint of endpoints) answers.push(await answerOf(endpoint))
    await rest()
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    // an endpoint that is refused in all modes would be untested
    expect(answers.filter(({ status }) => status < 300).length).toBeGreaterThan(works)
    const errors = west().told.filter(({ level }) => level === 'error')
    // these clusters reach no AWS, so the round that a write of config/organization starts fails
    const own = errors.filter(error => !JSON.stringify(error).includes('the round of an organization failed'))
    expect(own).toEqual([])
  })
})

test('an activation token key of an earlier mode is not used in a later mode', async () => {
  const short = await clusterSet(['west', 'north'], { memory: true })
  const token = (name: string) =>
    short.at(name).ok('POST', `${DR}/primary/secondary-token`, { id: `of-${name}` })
  for (const name of ['west', 'north']) await short.enable(name)
  await token('west')
  await short.at('west').ok('POST', `${DR}/primary/disable`)
  await short.settled()
  await short.join('west', 'north')
  await short.converge()
  const doing = promotions(short)
  await doing.giveToken('west')
  expect((await doing.promote('west')).status).toBe(200)
  await token('west')
})
