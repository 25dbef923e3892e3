import { afterAll, beforeAll, expect, test } from 'vitest'
import { demonstrate } from '../../../infra/local/demonstration.ts'
import { type Host, startHost } from '../../../infra/local/host.ts'
import { remoteControl } from '../../../infra/local/provider/control.ts'

let [one, two]: (Host | undefined)[] = []
beforeAll(async () => {
  one = await startHost({ cluster: 'beside-one', port: 0, memory: true })
  const provider = { url: one.provider_url, control: remoteControl(one.provider_url) }
  two = await startHost({ cluster: 'beside-two', port: 0, memory: true, region: 'eu-west-1', provider })
})
afterAll(async () => {
  await two?.close()
  await one?.close()
})

const started = (): [Host, Host] => {
  if (!one || !two) throw new Error('the clusters have not started')
  return [one, two]
}

test('a second cluster beside the same provider lives in its own region, with its own key', () => {
  const places = started().map(host => {
    const { environment } = host.runtimeOf('init')
    return { region: environment['AWS_REGION'], key: environment['KEY_ARN']?.split(':')[3] }
  })
  expect(places).toEqual([
    { region: 'us-east-1', key: 'us-east-1' },
    { region: 'eu-west-1', key: 'eu-west-1' },
  ])
})

test('the same workloads log in to both', async () => {
  for (const host of started()) {
    const logins = await demonstrate(host, () => ({}))
    expect(logins.map(({ type }) => type)).toEqual(['ec2', 'iam'])
  }
})
