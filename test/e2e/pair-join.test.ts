import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { readDrStatus } from '../../infra/local/pair/dr-client.ts'
import { startClusterPair } from '../../infra/local/pair/pair.ts'
import { joinPair } from '../../infra/pair/join.ts'
import { type PairPlan, parsePairPlan } from '../../infra/pair/settings.ts'
import { licenceKey, licenceText } from '../builders/licence.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { call } from '../support/service/api.ts'

/** Returns the plan of a pair file with the addresses of two local clusters. */
function planOf(...hosts: [LocalHost, LocalHost]): PairPlan {
  const key = licenceKey()
  const [one, other] = parsePairPlan({
    both: { stage: 'prod', license: licenceText(key.privateKey), licensePublicKey: key.publicKey },
    clusters: Object.fromEntries(
      hosts.map(({ cluster }, index) => [
        cluster,
        {
          account: '111122223333',
          region: `us-east-${index + 1}`,
          settings: { apiAddress: `https://${cluster}.example.com` },
        },
      ]),
    ),
  })
  const at = (plan: PairPlan[0], { base_url, link_address }: LocalHost) => ({
    ...plan,
    address: base_url.replace(/\/v1$/, ''),
    settings: { ...plan.settings, linkAddress: link_address },
  })
  return [at(one, hosts[0]), at(other, hosts[1])]
}

test("`--join` makes one of two new clusters the other's secondary after the operator types its name, and a repetition changes nothing", async () => {
  const { east, west, close } = await startClusterPair({ port: 0, memory: true, unlisted: true })
  onTestFinished(close)
  const pair = planOf(east, west)
  const made = await call(
    east.base_url,
    'POST',
    '/auth/token/create',
    { ttl: '1h' },
    { token: east.root_token },
  )
  const said: string[] = []
  const around = {
    say: (text: string) => void said.push(text),
    question: async () => 'west\n',
    wait: (ms: number) => setTimeout(ms),
    tokens: { primary: east.root_token, secondary: west.root_token },
  }
  await joinPair(pair, 'west', around)
  expect(said.at(-1)).toBe('west follows east')
  const primary = await readDrStatus(east)
  // on a busy machine the secondary polls late and is disconnected for a while
  const secondary = await eventually(async () => {
    const shown = await readDrStatus(west)
    return shown.state === 'stream-wals' ? shown : undefined
  })
  expect(primary).toMatchObject({ mode: 'primary', known: ['west'] })
  expect(secondary).toMatchObject({
    mode: 'secondary',
    state: 'stream-wals',
    set: primary.set,
  })
  const nobody = { ...around, question: () => Promise.reject(new Error('nothing is to be asked')) }
  await joinPair(pair, 'west', nobody)
  expect(said.filter(text => text === 'west follows east')).toHaveLength(2)
  await expect(joinPair(pair, 'east', around)).rejects.toThrow('nothing was changed: east is the primary')
  const { client_token } = made.body.auth
  expect(
    (await call(east.base_url, 'GET', '/auth/token/lookup-self', undefined, { token: client_token })).status,
  ).toBe(200)
})
