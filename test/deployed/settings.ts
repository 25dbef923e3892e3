import { createHash } from 'node:crypto'
import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { EMULATED } from './emulator.ts'

/*
 * The settings that `LONG=true npm run test:deployed` deploys. test/infra/deployed-settings.test.ts compares the table
 * with the schema of the settings: each setting is in a group with a value that differs from its default, or is a gap.
 */

const { LICENSE: license, LICENSE_PUBLIC_KEY: licensePublicKey } = createLocalLicence('test', Date.now())
const inRegion = (service: string) => `arn:aws:${service}:${EMULATED.region}:${EMULATED.account}`

/** The secret of the proxy in front of the group `organisation`. */
export const PROXY_SECRET = 'secret-of-the-proxy'

const certificateArn = `${inRegion('acm')}:certificate/11111111-1111-1111-1111-111111111111`
const domain = { name: 'auth.example.com', certificateArn }
const linkDomain = { name: 'link.example.com', certificateArn }

/** Things that settings name, and that exist before a deployment. */
export interface NamedThings {
  /** ARN of a KMS key */
  keyArn: string
  /** id of a hosted zone for example.com */
  zoneId: string
  /** folder with a certificate of a CA */
  authorities: string
  /** fingerprint of the OpenPGP key of a holder of shares */
  fingerprint: string
}

type SettingGroup = Readonly<Record<string, unknown>>

/** Returns settings of one deployment each. The name of a group is the stage of its deployment. */
export const createSettingGroups = (named: NamedThings): Readonly<Record<string, SettingGroup>> => ({
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
  organisation: {
    apiAddress: 'https://auth.example.com',
    proxy: { secretHashes: [createHash('sha256').update(PROXY_SECRET).digest('hex')] },
    customerKeys: { keyring: named.keyArn, tables: named.keyArn, logs: named.keyArn },
    caBundles: named.authorities,
    initPgpKeys: [named.fingerprint],
  },
  address: { domain: { ...domain, zoneId: named.zoneId }, closeDefaultEndpoint: true },
  certificates: {
    domain: { ...domain, truststore: { uri: 's3://certificates/authorities.pem', version: '1' } },
    linkDomain: { ...linkDomain, zoneId: named.zoneId },
  },
  'private-api': {
    front: { kind: 'privateRestApi', vpcEndpointIds: ['vpce-0123456789abcdef0'] },
    linkDomain,
  },
  balancer: {
    front: {
      kind: 'loadBalancer',
      vpcId: 'vpc-0123456789abcdef0',
      subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
      networks: ['10.0.0.0/8'],
    },
    domain,
    linkDomain,
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
    instanceEvents: {},
  },
})

/** Settings that are not deployed in a group, and why. An emulator's answer stands in quotes. */
export const settingGaps: Readonly<Record<string, string>> = {
  stage: 'each group has a stage of its own',
  deletionProtection: 'cluster.test.ts deploys and removes with protection, and update.test.ts without',
  restored: 'long/settings.test.ts deploys a cluster with the tables of another',
  canary:
    'tried: "Unrecognized resource types: [AWS::CodeDeploy::Application, AWS::CodeDeploy::DeploymentConfig, AWS::CodeDeploy::DeploymentGroup]"',
  webLogins:
    'tried: "Unrecognized resource types: [AWS::Lambda::WebFunction, AWS::Lambda::WebFunctionEndpoint, AWS::Lambda::WebFunctionRevision]"',
  sharedAddress: 'tried: "Unrecognized resource types: [AWS::Route53::HealthCheck]"',
}
