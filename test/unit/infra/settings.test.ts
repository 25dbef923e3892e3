import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { createLocalAuthority } from '../../../infra/local/gateway/tls.ts'
import { readSettings } from '../../../infra/settings.ts'
import { sha256 } from '../../../shared/values/secret.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'

const key = licenceKey()

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-settings-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const [authorities, empty] = [`${folder}/authorities`, `${folder}/empty`]
mkdirSync(authorities)
mkdirSync(empty)
writeFileSync(`${authorities}/own.pem`, createLocalAuthority('own').cert)

const faultsOf = (given: unknown): string[] => {
  try {
    readSettings(given)
    return []
  } catch (error) {
    const [title, ...faults] = (error as Error).message.split('\n')
    expect(title).toBe('the settings are not usable:')
    return faults.map(line => line.trim())
  }
}

describe('faults of settings have texts of our own', () => {
  test.each([
    [
      { stage: 'dev', legacySignature: true },
      'legacySignature: there is no such setting: did you mean legacySignatures?',
    ],
    [{ stage: 'dev', somethingElse: 1 }, 'somethingElse: there is no such setting'],
    [
      { stage: 'dev', throttle: { rate: 1, bust: 2, burst: 2 } },
      'throttle.bust: there is no such setting: did you mean burst?',
    ],
    [{}, 'stage: is missing'],
    [{ stage: 'dev', tracing: 'yes' }, 'tracing: must be true or false, not "yes"'],
    [{ stage: 'dev', memory: 64 }, 'memory: must be at least 256, not 64'],
    [{ stage: 'dev', memory: 256.5 }, 'memory: must be a whole number, not 256.5'],
    [{ stage: 'dev', memory: '1024' }, 'memory: must be a number, not "1024"'],
    [{ stage: 'dev', alarmActionArns: 'arn:x' }, 'alarmActionArns: must be a list, not "arn:x"'],
    [7, 'settings: must be an object, not 7'],
  ])('%j', (given, fault) => expect(faultsOf(given)).toContain(fault))
})

describe('the setting proxy', () => {
  const hash = 'AB'.repeat(32)
  const given = (proxy: object, more: object = { apiAddress: 'https://auth.example.com' }) => ({
    stage: 'prod',
    proxy,
    ...more,
  })

  test('the setting accepts the hashes of one secret, or of two during a rotation; hops is 1 by default', () => {
    expect(readSettings(given({ secretHashes: [hash] })).proxy).toEqual({
      secretHashes: [hash.toLowerCase()],
      hops: 1,
    })
    expect(faultsOf(given({ secretHashes: [hash, 'cd'.repeat(32)], hops: 2 }))).toEqual([])
  })

  test.each([
    [{ secretHashes: [] }, 'proxy.secretHashes: must have at least one hash'],
    [{ secretHashes: [hash, hash, hash] }, 'proxy.secretHashes: must have at most two hashes'],
    [{ secretHashes: ['the secret itself'] }, 'proxy.secretHashes.0: must be a SHA-256 hash'],
    [{ secretHashes: [sha256('').toString('hex')] }, 'proxy.secretHashes.0: must be the hash of a secret'],
    [{ secretHashes: [sha256('\n').toString('hex')] }, 'proxy.secretHashes.0: must be the hash of a secret'],
    [{ secretHashes: [hash], hops: 0 }, 'proxy.hops'],
    [{ hops: 1 }, 'proxy.secretHashes'],
  ])('%j is rejected, because the proxy would admit everybody or nobody', (proxy, fault) => {
    expect(faultsOf(given(proxy)).join()).toContain(fault)
  })

  test('the setting is rejected without apiAddress', () => {
    expect(faultsOf(given({ secretHashes: [hash] }, {}))).toEqual([
      expect.stringMatching(/^proxy: needs apiAddress, the proxy’s address/),
    ])
  })
})

describe('settings of a deployment', () => {
  test('the stage is the only required setting', () => {
    expect(readSettings({ stage: 'prod' })).toEqual({
      stage: 'prod',
      clusterName: 'cloud-auth-prod',
      deletionProtection: true,
      logRetentionDays: 30,
      auditRetentionDays: 365,
      legacySignatures: false,
      strictCeremony: true,
      tablesClient: 'wire',
      healthChecksKeyring: false,
      assumableRoleArns: ['arn:*:iam::*:role/cloud-auth-*'],
      front: { kind: 'httpApi' },
      closeDefaultEndpoint: false,
      passImportWarnings: false,
      throttle: { rate: 500, burst: 1000 },
      linkThrottle: { rate: 100, burst: 200 },
      healthThrottle: { rate: 50, burst: 100 },
      accountConcurrency: 1000,
      apiVersion: '1.19.5',
      alarmActionArns: [],
      dashboard: false,
      tracing: false,
      memory: 1024,
      functionMemory: {},
    })
  })

  test('settings may be JSON text, as `-c settings=…` passes them', () => {
    expect(readSettings('{"stage":"dev","memory":512}')).toMatchObject({ stage: 'dev', memory: 512 })
  })

  test('every setting can be set', () => {
    const settings = {
      stage: 'a-1',
      clusterName: 'East_1.a',
      deletionProtection: false,
      logRetentionDays: 1,
      auditRetentionDays: 3653,
      legacySignatures: true,
      strictCeremony: false,
      tablesClient: 'sdk',
      healthChecksKeyring: true,
      assumableRoleArns: ['arn:aws:iam::111122223333:role/path/app+=,.@-*', 'arn:aws-cn:iam::*:role/*'],
      front: { kind: 'httpApi' },
      apiAddress: 'https://login.example.com:8443',
      closeDefaultEndpoint: true,
      passImportWarnings: true,
      apiVersion: '1.21.0',
      license: licenceText(key.privateKey),
      licensePublicKey: key.publicKey,
      initPgpKeys: ['0123456789abcdef0123456789abcdef01234567', 'a'.repeat(64)],
      alarmActionArns: ['arn:aws:sns:us-east-1:111122223333:operators'],
      dashboard: true,
      tracing: true,
      throttle: { rate: 10, burst: 20 },
      linkThrottle: { rate: 11, burst: 21 },
      healthThrottle: { rate: 12, burst: 22 },
      proxy: { secretHashes: ['ab'.repeat(32)], hops: 2 },
      loginConcurrency: 5,
      accountConcurrency: 105,
      restored: {
        dataTable: 'data-2026.07_01',
        clusterTable: 'cluster-2026.07_01',
        clusterStreamArn:
          'arn:aws:dynamodb:eu-west-1:111122223333:table/cluster-2026.07_01/stream/2026-07-31T12:00:00.000',
        keyArn: 'arn:aws:kms:eu-west-1:111122223333:key/12345678-1234-1234-1234-123456789012',
      },
      caBundles: authorities,
      memory: 256,
      functionMemory: { 'on-pull': 512 },
    }
    expect(readSettings(settings)).toEqual(settings)
  })

  test('all faults are reported together, each with its setting', () => {
    const faults = faultsOf({
      stage: 'Prod',
      clusterName: '',
      deletionProtection: 'yes',
      logRetentionDays: 2,
      auditRetentionDays: '365',
      legacySignatures: 1,
      assumableRoleArns: ['arn:aws:iam::1:role/x', 'arn:aws:iam::*:role/ok'],
      apiAddress: 'http://x',
      apiVersion: '1.19.5+ent',
      throttle: { rate: 0, brust: 1 },
      loginConcurrency: 1.5,
      memory: 128,
      memroy: 512,
    })
    const named = new Set(faults.map(fault => fault.split(':')[0]))
    expect([...named].sort()).toEqual(
      [
        'stage',
        'clusterName',
        'deletionProtection',
        'logRetentionDays',
        'auditRetentionDays',
        'legacySignatures',
        'assumableRoleArns.0',
        'apiAddress',
        'apiVersion',
        'throttle.rate',
        'throttle.burst',
        'throttle.brust',
        'loginConcurrency',
        'memory',
        'memroy',
      ].sort(),
    )
  })

  test.each([
    ['no stage', {}, 'stage'],
    ['a stage that begins with a digit', { stage: '1a' }, 'stage'],
    ['a stage that is too long', { stage: 'a'.repeat(21) }, 'stage'],
    ['a name with a space', { stage: 'a', clusterName: 'a b' }, 'clusterName'],
    [
      'a retention that CloudWatch does not know',
      { stage: 'a', auditRetentionDays: 366 },
      'auditRetentionDays',
    ],
    [
      'a role ARN of another service',
      { stage: 'a', assumableRoleArns: ['arn:aws:sts::*:role/x'] },
      'assumableRoleArns.0',
    ],
    ['a fingerprint that is none', { stage: 'a', initPgpKeys: ['0123'] }, 'initPgpKeys.0'],
    ['a folder that is not there', { stage: 'a', caBundles: 'nowhere' }, 'caBundles'],
    ['a folder without files', { stage: 'a', caBundles: empty }, 'caBundles'],
    ['a folder of other files', { stage: 'a', caBundles: 'docs' }, 'caBundles'],
    ['no holder at all', { stage: 'a', initPgpKeys: [] }, 'initPgpKeys'],
    ['a holder named twice', { stage: 'a', initPgpKeys: ['ab'.repeat(20), 'AB'.repeat(20)] }, 'initPgpKeys'],
    ['a pattern for everything', { stage: 'a', assumableRoleArns: ['*'] }, 'assumableRoleArns.0'],
    ['an address of another scheme', { stage: 'a', apiAddress: 'http://login.example.com' }, 'apiAddress'],
    ['an address with a path', { stage: 'a', apiAddress: 'https://login.example.com/x' }, 'apiAddress'],
    [
      'an address with a slash at the end',
      { stage: 'a', apiAddress: 'https://login.example.com/' },
      'apiAddress',
    ],
    ['an address with a query', { stage: 'a', apiAddress: 'https://login.example.com?x' }, 'apiAddress'],
    ['an address with a user', { stage: 'a', apiAddress: 'https://me@login.example.com' }, 'apiAddress'],
    [
      'closing the only address that there is',
      { stage: 'a', closeDefaultEndpoint: true },
      'closeDefaultEndpoint',
    ],
    ['a licence without its key', { stage: 'a', license: licenceText(key.privateKey) }, 'license'],
    ['a key without licence', { stage: 'a', licensePublicKey: key.publicKey }, 'license'],
    [
      'a licence by another key',
      { stage: 'a', license: licenceText(licenceKey().privateKey), licensePublicKey: key.publicKey },
      'license',
    ],
    ['an API version of two numbers', { stage: 'a', apiVersion: '1.19' }, 'apiVersion'],
    [
      'reserving more than an ordinary account may',
      { stage: 'a', loginConcurrency: 901 },
      'loginConcurrency',
    ],
    [
      'reserving what a small account must leave free',
      { stage: 'a', loginConcurrency: 1, accountConcurrency: 100 },
      'loginConcurrency',
    ],
    [
      'one restored table without the other',
      { stage: 'a', restored: { dataTable: 'data' } },
      'restored.clusterTable',
    ],
    ['one table for both', { stage: 'a', restored: { dataTable: 'same', clusterTable: 'same' } }, 'restored'],
    [
      'the alias of a key',
      {
        stage: 'a',
        restored: {
          dataTable: 'data',
          clusterTable: 'cluster',
          keyArn: 'arn:aws:kms:eu-west-1:111122223333:alias/x',
        },
      },
      'restored.keyArn',
    ],
    ['half a throttle', { stage: 'a', throttle: { rate: 1 } }, 'throttle.burst'],
    ['too much memory', { stage: 'a', memory: 10_241 }, 'memory'],
    [
      'too much memory for one function',
      { stage: 'a', functionMemory: { login: 10_241 } },
      'functionMemory.login',
    ],
    [
      'a page that asks a path',
      { stage: 'a', console: { peer: 'https://east.example.com/v1' } },
      'console.peer',
    ],
    ['a page that asks everybody', { stage: 'a', console: { peer: '*' } }, 'console.peer'],
    [
      'a page that asks in the clear',
      { stage: 'a', console: { peer: 'http://east.example.com' } },
      'console.peer',
    ],
    ['any page as a reader', { stage: 'a', consoleOrigin: '*' }, 'consoleOrigin'],
    ['a page of nowhere as a reader', { stage: 'a', consoleOrigin: 'null' }, 'consoleOrigin'],
    [
      'a page that takes its own cluster for the other one',
      { stage: 'a', apiAddress: 'https://a.example.com', console: { peer: 'https://a.example.com' } },
      'console',
    ],
    [
      'leave for the page of this cluster',
      { stage: 'a', apiAddress: 'https://a.example.com', consoleOrigin: 'https://a.example.com' },
      'consoleOrigin',
    ],
    ['memory for no function', { stage: 'a', functionMemory: { puller: 512 } }, 'functionMemory'],
  ])('the settings with %s are rejected', (_, given, name) => {
    expect(faultsOf(given)).toEqual([expect.stringMatching(new RegExp(`^${name}: .+`))])
  })

  test.each([
    [900, undefined],
    [400, 500],
  ])('logins may reserve %i of %s environments', (loginConcurrency, accountConcurrency) => {
    expect(faultsOf({ stage: 'a', loginConcurrency, accountConcurrency })).toEqual([])
  })

  test.each([['{'], [''], [undefined], [null], [42]])('%j is rejected as settings', given => {
    expect(faultsOf(given)).toEqual([expect.stringMatching(/^settings: .+/)])
  })
})
