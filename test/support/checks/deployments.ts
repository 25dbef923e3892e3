const certificateArn = 'arn:aws:acm:us-east-1:111122223333:certificate/11111111-1111-1111-1111-111111111111'
const linkDomain = { name: 'link.example.com', certificateArn }
const keyArn = 'arn:aws:kms:us-east-1:111122223333:key/11111111-1111-1111-1111-111111111111'

/**
 * Settings of the deployments whose templates are checked. Together these deployments create every kind of
 * resource.
 */
export const deployments: Readonly<Record<string, Record<string, unknown>>> = {
  plain: { stage: 'plain' },
  full: {
    stage: 'full',
    canary: {},
    loginProvisionedConcurrency: 3,
    loginConcurrency: 20,
    tags: { team: 'auth' },
    parameterPrefix: '/cloud-auth/full',
    permissionsBoundaryArn: 'arn:aws:iam::111122223333:policy/boundary',
    customerKeys: { keyring: keyArn, tables: keyArn, logs: keyArn },
    domain: { name: 'auth.example.com', certificateArn, zoneId: 'Z0123456789' },
    drill: { schedule: 'rate(7 days)', peer: 'https://west.example.com', policy: 'drill' },
    sharedAddress: { name: 'all.example.com', certificateArn, zoneId: 'Z0123456789', preferred: true },
    alarmActionArns: ['arn:aws:sns:us-east-1:111122223333:alarms'],
    instanceEvents: { accounts: ['111122223333'] },
    dashboard: true,
    tracing: true,
  },
  private: {
    stage: 'private',
    front: { kind: 'privateRestApi', vpcEndpointIds: ['vpce-0123456789abcdef0'] },
    linkDomain,
  },
  balanced: {
    stage: 'balanced',
    front: {
      kind: 'loadBalancer',
      vpcId: 'vpc-0123456789abcdef0',
      subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
      networks: ['10.0.0.0/8'],
    },
    domain: { name: 'auth.example.com', certificateArn },
    linkDomain,
  },
  web: {
    stage: 'web',
    apiAddress: 'https://auth.example.com',
    proxy: { secretHashes: ['a'.repeat(64)] },
    webLogins: {
      certificateArn,
      originSecretArn: 'arn:aws:secretsmanager:us-east-1:111122223333:secret:origin-AbCdEf',
    },
  },
}
