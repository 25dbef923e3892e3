import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../../shared/api/endpoint.ts'
import { ApiError, errorCodes } from '../../../shared/api/errors.ts'
import { checkClusterRole, checkClusterServes } from '../../../shared/http/gate.ts'
import type { ClusterMode, ClusterRecord } from '../../../shared/model/cluster.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { clusterRecord } from '../../builders/cluster-record.ts'

type Mode = ClusterMode | undefined

const HERE = { home: 'these tables' }

const base = (mode: Mode) => (mode ? { cluster: { record: clusterRecord({ mode }), readAt: 0 } } : {})

/** Returns the status of the error that work throws; 0: no error. */
function refusalOf(work: () => void): { status: number; text: string; error?: ApiError } {
  try {
    work()
    return { status: 0, text: '' }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const row: { status: number; always?: string } = errorCodes[error.code]
    return { status: row.status, text: row.always ?? error.message, error }
  }
}

const modes: readonly Mode[] = [undefined, 'disabled', 'primary', 'secondary', 'bootstrapping']

describe('checking the cluster before the caller', () => {
  test.each<[serves: Endpoint['serves'] | undefined, statuses: readonly number[]]>([
    // not initialised, disabled, primary, secondary, bootstrapping
    ['always', [0, 0, 0, 0, 0]],
    ['active', [503, 0, 0, 400, 503]],
    ['primary', [503, 0, 0, 400, 503]],
    ['secondary', [503, 0, 0, 0, 503]],
    ['dr', [503, 0, 0, 0, 503]],
    ['demotion', [503, 0, 0, 400, 503]],
    [undefined, [503, 0, 0, 400, 503]],
  ])(
    'an endpoint that serves %s: statuses %j (not initialised, disabled, primary, secondary, bootstrapping)',
    (serves, statuses) => {
      expect(modes.map(mode => refusalOf(() => checkClusterServes(base(mode), serves, HERE)).status)).toEqual(
        statuses,
      )
    },
  )

  test('a former primary that follows no cluster may call demotion endpoints', () => {
    const gone = { mode: 'secondary', epoch: '000001.0123456789ab' } as const
    const link = {
      secondaryId: 'a',
      primaryAddr: 'https://b',
      primaryAddrs: [],
      ownKey: 'k' as EncryptedText,
    }
    const on = (parts: object) => {
      const { cluster } = base('secondary')
      const record = { ...cluster?.record, ...parts } as ClusterRecord
      return refusalOf(() => checkClusterServes({ cluster: { record, readAt: 0 } }, 'demotion', HERE)).status
    }
    expect(on(gone)).toBe(0)
    expect(on({ ...gone, link: { ...link, id: '', primaryAddr: '', primaryKey: '' } })).toBe(0)
    expect(on({ ...gone, link: { ...link, primaryKey: 'p' } })).toBe(400)
    expect(on({ mode: 'secondary' })).toBe(400)
  })

  test('a primary restored from a copy of its tables serves no request', () => {
    const statusOf = (mode: ClusterMode, serves: Endpoint['serves'], home?: string) => {
      const { cluster } = base(mode)
      const record = {
        ...cluster?.record,
        ...(home === undefined ? {} : { homeTable: home }),
      } as ClusterRecord
      return refusalOf(() => checkClusterServes({ cluster: { record, readAt: 0 } }, serves, HERE)).status
    }
    for (const serves of ['active', 'primary', 'secondary', 'dr', 'demotion'] as const) {
      expect(statusOf('primary', serves, 'other tables')).toBe(503)
      expect([statusOf('primary', serves, HERE.home), statusOf('primary', serves)]).toEqual([0, 0])
    }
    expect(statusOf('primary', 'always', 'other tables')).toBe(0)
    expect(statusOf('secondary', 'secondary', 'other tables')).toBe(0)
    expect(statusOf('disabled', 'active', 'other tables')).toBe(0)
  })

  test('the error of a secondary starts with `path disabled` and names the endpoint that shows its primary', () => {
    const { text } = refusalOf(() => checkClusterServes(base('secondary'), 'active', HERE))
    expect(text).toBe(
      'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
    )
  })

  test('the error of a bootstrapping cluster has retry-after', () => {
    const { text, error } = refusalOf(() => checkClusterServes(base('bootstrapping'), 'active', HERE))
    expect(text).toBe(
      'this cluster is becoming a DR secondary and serves no clients; repeat the request when GET sys/health answers 472',
    )
    expect(error).toMatchObject({ code: 'busy', retryAfter: 5 })
  })

  test('refusals because of the cluster role have their own reason', () => {
    for (const mode of ['secondary', 'bootstrapping'] as const)
      expect(refusalOf(() => checkClusterServes(base(mode), 'active', HERE)).error?.reason).toEqual({
        why: 'cluster-role',
      })
  })
})

describe('checking the role after the caller', () => {
  test.each<[serves: Endpoint['serves'], mode: Mode, text: string]>([
    ['primary', 'primary', ''],
    [
      'primary',
      'disabled',
      'not a DR primary: the mode of this cluster is disabled; POST sys/replication/dr/primary/enable makes a DR primary of a cluster without replication',
    ],
    ['demotion', 'primary', ''],
    ['demotion', 'secondary', ''],
    [
      'demotion',
      'disabled',
      'not a DR primary: the mode of this cluster is disabled; POST sys/replication/dr/primary/enable makes a DR primary of a cluster without replication',
    ],
    ['secondary', 'secondary', ''],
    [
      'secondary',
      'disabled',
      'not a DR secondary: the mode of this cluster is disabled; send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
    ],
    [
      'secondary',
      'primary',
      'not a DR secondary: the mode of this cluster is primary; send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
    ],
    ['active', 'disabled', ''],
    ['active', 'primary', ''],
    ['dr', 'secondary', ''],
    ['dr', 'disabled', ''],
    ['dr', 'primary', ''],
    ['always', undefined, ''],
  ])('an endpoint that serves %s on a %s cluster gets the error %j', (serves, mode, text) => {
    const refusal = refusalOf(() => checkClusterRole(base(mode), serves))
    expect(refusal).toMatchObject({ text, status: text === '' ? 0 : 400 })
  })
})
