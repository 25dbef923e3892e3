import { beforeAll, describe, expect, test } from 'vitest'
import { type ApiError, errorCodes } from '../../../../shared/api/errors.ts'
import * as ceremony from '../../../../shared/ceremony/refusals.ts'
import * as role from '../../../../shared/replication/operation/refusals.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { Reply } from '../../../support/service/api.ts'
import { OPERATION_TOKEN as OPERATOR, storeOperationToken } from '../../../support/set/operation-token.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const R = '/sys/replication/dr'
const GENERATE = `${R}/secondary/generate-operation-token`

let set: ClusterSet

beforeAll(async () => {
  set = await clusterSet(['east', 'west', 'alone'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  await storeOperationToken(set.at('west'))
})

const post = (cluster: string, path: string, body: object): Promise<Reply> =>
  cluster === 'west'
    ? set.at(cluster).request('POST', path, { dr_operation_token: OPERATOR, ...body }, { token: '' })
    : set.at(cluster).request('POST', path, body)

const said = ({ status, body }: Reply) => [status, body.errors]
const of = ({ code, message }: ApiError) => [errorCodes[code].status, [message]]

/** A text of the right form whose X25519 key cannot encrypt, because the result would not be secret. */
const ZEROS = Buffer.concat([Buffer.of(1), Buffer.alloc(64)]).toString('base64')

const update = `${R}/secondary/update-primary`
const become = `${R}/secondary/enable`
const tokens = `${R}/primary/secondary-token`
const ca = (pem: string) => ({ token: 'x.y.z', ca_cert: pem })

describe('replication endpoints return the errors of their error table', () => {
  test.each<[row: string, cluster: string, path: string, body: object, refusal: ApiError]>([
    ['notAPrimary', 'alone', tokens, { id: 'w' }, role.notAPrimaryError('disabled')],
    ['notASecondary', 'alone', `${R}/secondary/promote`, {}, role.notASecondaryError('disabled')],
    ['notASecondary', 'east', update, { token: '' }, role.notASecondaryError('primary')],
    ['noTree', 'alone', '/sys/replication/reindex', {}, role.noTreeError('disabled')],
    ['diffNeedsPrimary', 'east', '/sys/replication/reindex', { diff: true }, role.diffNeedsPrimaryError()],
    ['notInASet', 'alone', '/sys/replication/recover', {}, role.notInASetError()],
    ['alreadyPrimary', 'east', `${R}/primary/enable`, {}, role.alreadyPrimaryError()],
    [
      'addressUnusable',
      'east',
      `${R}/primary/enable`,
      { primary_cluster_addr: 'http://east.example.com' },
      role.invalidAddressError('primary_cluster_addr'),
    ],
    ['primaryInstead', 'east', become, { token: 'x.y.z' }, role.primaryCannotJoinError()],
    ['noKeyForAPrimary', 'east', `${R}/secondary/generate-public-key`, {}, role.noPublicKeyOfPrimaryError()],
    ['idUnusable', 'east', tokens, { id: 'a/b' }, role.invalidSecondaryIdError()],
    ['idTaken', 'east', tokens, { id: 'west' }, role.secondaryIdTakenError('west')],
    ['lifetimeUnusable', 'east', tokens, { id: 'w', ttl: 0 }, role.invalidTokenTtlError()],
    [
      'publicKeyUnusable',
      'east',
      tokens,
      { id: 'w', secondary_public_key: 'x' },
      role.invalidPublicKeyError(),
    ],
    [
      'publicKeyUnusable',
      'east',
      tokens,
      { id: 'w', secondary_public_key: ZEROS },
      role.invalidPublicKeyError(),
    ],
    ['tokenUnusable', 'alone', become, { token: 'x.y.z' }, role.unusableTokenError()],
    ['caUnusable', 'alone', become, ca('x'), role.invalidCaError()],
    [
      'caFileUnknown',
      'alone',
      become,
      { token: 'x.y.z', ca_file: 'x.pem' },
      role.unknownCaFileError('ca_file', 'x.pem', []),
    ],
    ['noUpdateGiven', 'west', update, {}, role.updateMissingError()],
    [
      'twoUpdatesGiven',
      'west',
      update,
      { token: 'x.y.z', update_primary_addrs: ['https://east.example.com'] },
      role.updateAmbiguousError(),
    ],
    ['noAddressGiven', 'west', update, { update_primary_addrs: [] }, role.addressCountError()],
    ['onlyWithToken', 'west', update, { token: '', ca_cert: 'x' }, role.parameterNeedsTokenError('ca_cert')],
    [
      'operationTokenMissing',
      'west',
      update,
      { dr_operation_token: '' },
      ceremony.operationTokenMissingError(),
    ],
    [
      'operationTokenUnreadable',
      'west',
      update,
      { dr_operation_token: 5 },
      ceremony.operationTokenTypeError(),
    ],
    [
      'noAttempt',
      'west',
      `${GENERATE}/update`,
      { nonce: 'n', key: 'ab'.repeat(33) },
      ceremony.noAttemptError('operation'),
    ],
    ['otpUnusable', 'west', `${GENERATE}/attempt`, { otp: 'x' }, ceremony.otpLengthError()],
    [
      'maskUnusable',
      'alone',
      '/sys/decode-token',
      { encoded_token: '!', otp: 'x' },
      ceremony.invalidMaskedTokenError(),
    ],
  ])('%s: %s, %s', async (_, cluster, path, body, refusal) => {
    expect(said(await post(cluster, path, body))).toEqual(of(refusal))
  })

  test('for an expired token, and for a token of a different set', async () => {
    const token = async (cluster: string, more = {}): Promise<string> =>
      (await set.at(cluster).ok('POST', tokens, { id: `t-${cluster}`, ...more })).body.wrap_info.token
    const lapsing = await token('east', { ttl: '1s' })
    set.pass(2000)
    expect(said(await post('west', update, { token: lapsing }))).toEqual(
      of(role.activationTokenExpiredError()),
    )
    await set.enable('alone')
    expect(said(await post('west', update, { token: await token('alone') }))).toEqual(
      of(role.tokenOfDifferentSetError()),
    )
  })

  test('for a second ceremony attempt, a wrong nonce, a repeated or foreign share, and too many attempts', async () => {
    const begin = () => post('west', `${GENERATE}/attempt`, {})
    const give = (nonce: string, share = '') => post('west', `${GENERATE}/update`, { nonce, key: share })
    const { nonce } = (await begin()).body
    expect(said(await begin())).toEqual(of(ceremony.attemptInProgressError('operation')))
    const { shares } = set.at('east')
    expect(said(await give('n', shares[0]))).toEqual(of(ceremony.wrongNonceError('operation', nonce)))
    await give(nonce, shares[0])
    expect(said(await give(nonce, shares[0]))).toEqual(of(ceremony.duplicateShareError()))
    // a share of the secondary's own initialisation, which is no longer valid
    expect(said(await give(nonce, set.at('west').shares[0]))).toEqual(of(ceremony.unknownShareError()))
    // strangers cannot cancel an attempt that has a share
    await set.at('west').ok('DELETE', `${GENERATE}/attempt`)
    const again = async () => {
      await set.at('west').request('DELETE', `${GENERATE}/attempt`, undefined, { token: '' })
      return begin()
    }
    let last = await again()
    for (let tries = 0; last.status === 200 && tries < 10; tries++) last = await again()
    expect(said(last)).toEqual(of(ceremony.tooManyAttemptsError(0)))
  })

  test('a batch token cannot be revoked', async () => {
    const east = set.at('east')
    const policy = 'path "sys/replication/dr/secondary/*" { capabilities = ["update"] }'
    await east.ok('POST', '/sys/policies/acl/operators', { policy })
    const batch = { type: 'batch', policies: ['operators'], no_parent: true, ttl: '1h' }
    const { body } = await east.ok('POST', '/auth/token/create', batch)
    await set.converge('west')
    const revoked = await post('west', `${R}/secondary/operation-token/delete`, {
      dr_operation_token: body.auth.client_token,
    })
    expect(said(revoked)).toEqual(of(ceremony.batchTokenNotRevocableError()))
  })

  test('a second operation is refused while the first operation runs', async () => {
    const { ports, record } = set.at('west')
    const [free, now] = [await record(), ports.clock.now()]
    const hold = (data: typeof free) =>
      ports.store.commit([putItem(key('cluster'), data)], { record: free, readAt: now })
    await hold({ ...free, operation: 'of-another-request' })
    const refused = await post('west', update, { token: '' })
    await hold(free)
    expect(said(refused)).toEqual(of(role.roleChangingError()))
  })

  test('addresses are refused on a secondary without credentials', async () => {
    expect((await post('west', update, { token: '' })).status).toBe(200)
    await set.settled()
    const found = await post('west', update, { update_primary_addrs: ['https://east.example.com'] })
    expect(said(found)).toEqual(of(role.addressesNeedLinkError()))
  })
})
