import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { EMULATED } from './emulator.ts'

/*
 * The settings that `LONG=true npm run test:deployed` deploys. test/infra/deployed-settings.test.ts compares the table
 * with the schema of the settings: each setting is in a group with a value that differs from its default, or is a gap.
 */

const { LICENSE: license, LICENSE_PUBLIC_KEY: licensePublicKey } = createLocalLicence('test', Date.now())
const inRegion = (service: string) => `arn:aws:${service}:${EMULATED.region}:${EMULATED.account}`

/** Settings of one deployment each. The name of a group is the stage of its deployment. */
export const settingGroups: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  cluster: {
    clusterName: 'auth-of-the-test',
    apiVersion: '1.18.0',
    healthChecksKeyring: true,
    legacySignatures: true,
    strictCeremony: false,
    tablesClient: 'sdk',
    assumableRoleArns: ['arn:aws:iam::*:role/auditors'],
    license,
    licensePublicKey,
    consoleOrigin: 'https://west.example.com',
    console: { peer: 'https://west.example.com' },
    apiAddress: 'https://east.example.com',
    drill: { schedule: 'rate(7 days)', peer: 'https://west.example.com', policy: 'drill' },
  },
  load: {
    throttle: { rate: 400, burst: 900 },
    linkThrottle: { rate: 90, burst: 180 },
    healthThrottle: { rate: 40, burst: 80 },
    loginConcurrency: 20,
    loginProvisionedConcurrency: 3,
    drConcurrency: { link: 20, 'on-pull': 3, 'on-journal': 4, 'on-operation': 3 },
    accountConcurrency: 900,
    memory: 512,
    functionMemory: { 'on-pull': 1024 },
  },
  address: {
    domain: {
      name: 'auth.example.com',
      certificateArn: `${inRegion('acm')}:certificate/11111111-1111-1111-1111-111111111111`,
    },
    closeDefaultEndpoint: true,
  },
  operation: {
    logRetentionDays: 7,
    auditRetentionDays: 400,
    alarmActionArns: [`${inRegion('sns')}:alarms`],
    dashboard: true,
    tracing: true,
    tags: { team: 'auth' },
    parameterPrefix: '/cloud-auth/test',
    permissionsBoundaryArn: `arn:aws:iam::${EMULATED.account}:policy/boundary`,
    passImportWarnings: true,
  },
}

/** Settings that are not deployed, and why. */
export const settingGaps: Readonly<Record<string, string>> = {
  stage: 'each group has a stage of its own',
  deletionProtection: 'cluster.test.ts deploys and removes with protection, and update.test.ts without',
  canary: 'the emulator lacks CodeDeploy',
  webLogins: 'the emulator lacks Web Functions',
  sharedAddress: 'the emulator lacks shared health checks',
  front:
    'not tried: the emulator ignores the definition of a REST API, as it ignores the definition of an HTTP API',
  linkDomain: 'not tried: it needs another front',
  proxy: 'not tried: requests need the header of the proxy',
  customerKeys: 'not tried: the keys must exist before the deployment',
  restored: 'not tried: the tables must exist before the deployment',
  caBundles: 'long/pair.test.ts deploys it',
  initPgpKeys: 'not tried: sys/init needs OpenPGP keys',
}
