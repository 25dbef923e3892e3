import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { HOME, launch, pkcs7Of } from '../../../support/requests/logins.ts'
import {
  cluster,
  done,
  eventually,
  freshInstanceId,
  freshMount,
  invoke,
  localCertificate,
} from '../../../support/service/cluster.ts'

const tables = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    endpoint: cluster.engine_url,
    region: HOME.region,
    credentials: cluster.credentials,
  }),
)

const DAY = 86_400
const STALE = 4_000_000_000

describe('the TTL of list entries follows the tidy settings', () => {
  const instanceId = freshInstanceId()
  let mount = ''
  let place = { TableName: '', Key: {} }

  const settings = (given: object) => done('POST', `${mount}/config/tidy/identity-accesslist`, given)
  const times = async () => (await tables.send(new GetCommand({ ...place, ConsistentRead: true }))).Item ?? {}
  const slackIs = (slack: number | undefined) =>
    eventually(async () => {
      const { due, ttl } = await times()
      return (ttl === undefined ? undefined : ttl - due) === slack
    })
  /** Stores a TTL as a login does that has read older settings. */
  const makeStale = () =>
    tables.send(
      new UpdateCommand({
        ...place,
        UpdateExpression: 'SET #ttl = :stale',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':stale': STALE },
      }),
    )
  const hourlyRound = () => invoke('on-tidy-schedule')

  beforeAll(async () => {
    const made = await freshMount()
    mount = made.path
    const { pk, sk } = key('access', made.accessor, instanceId)
    place = { TableName: cluster.tables.data, Key: { pk, sk } }
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    await launch({ instanceId })
    await done('POST', `${mount}/login`, { role: 'web', pkcs7: await pkcs7Of({ ...HOME, instanceId }) })
  })

  test('the TTL of a list entry is the expiration of the entry plus the safety buffer and a day', async () => {
    await slackIs(72 * 3600 + DAY)
  })

  test('changing or deleting the settings updates the TTL of the entries', async () => {
    await settings({ safety_buffer: '1h' })
    await slackIs(3600 + DAY)
    await settings({ disable_periodic_tidy: true })
    await slackIs(undefined)
    await done('DELETE', `${mount}/config/tidy/identity-accesslist`)
    await slackIs(72 * 3600 + DAY)
  })

  test('the second hourly round updates entries that the settings change missed, and updates each entry only once', async () => {
    await settings({ safety_buffer: '2h' })
    await slackIs(7200 + DAY)
    await makeStale()
    await hourlyRound()
    await hourlyRound()
    await slackIs(7200 + DAY)
    await eventually(async () => {
      await makeStale()
      await hourlyRound()
      await new Promise(resolve => setTimeout(resolve, 300))
      return (await times())['ttl'] === STALE
    })
  })
})
