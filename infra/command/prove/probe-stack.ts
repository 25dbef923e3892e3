import { nameInRun, RUN_TAG } from './names.ts'

/** Names of the roles for logins of the probe function, of the probe instance, and of the pod in an EKS cluster. */
export const PROBE_ROLES = { iam: 'prove-function', ec2: 'prove-instance', pod: 'prove-pod' } as const
/** Service account of the pod, in the namespace of the run. */
export const POD_SERVICE_ACCOUNT = 'probe'

/** The newest image of Amazon Linux for Arm, as a public parameter of Systems Manager. */
const IMAGE = '/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64'
const INSTANCE_MINUTES = 60

/**
 * The code of the probe function, which logs in as its own role. Its result has no token. CloudFormation accepts
 * inline code of 4,096 bytes.
 */
const CODE = `const { createHash, createHmac } = require('node:crypto')
const sha = text => createHash('sha256').update(text).digest('hex')
const base64 = text => Buffer.from(text).toString('base64')
exports.handler = async ({ address, role, times }) => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = require('node:process').env
  const body = 'Action=GetCallerIdentity&Version=2011-06-15'
  const sign = () => {
    const time = new Date().toISOString().replace(/[-:]|\\.\\d{3}/g, '')
    const headers = { Host: 'sts.amazonaws.com', 'X-Amz-Date': time, ...(session && { 'X-Amz-Security-Token': session }) }
    const names = Object.keys(headers).map(name => name.toLowerCase()).join(';')
    const lines = Object.entries(headers).map(([name, value]) => name.toLowerCase() + ':' + value)
    const canonical = ['POST', '/', '', ...lines, '', names, sha(body)].join('\\n')
    const scope = [time.slice(0, 8), 'us-east-1', 'sts', 'aws4_request']
    const key = scope.reduce((last, part) => createHmac('sha256', last).update(part).digest(), 'AWS4' + secret)
    const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha(canonical)].join('\\n')
    const signature = createHmac('sha256', key).update(text).digest('hex')
    const Authorization = 'AWS4-HMAC-SHA256 Credential=' + id + '/' + scope.join('/') + ', SignedHeaders=' + names + ', Signature=' + signature
    return { role, iam_http_request_method: 'POST', iam_request_url: base64('https://sts.amazonaws.com/'), iam_request_body: base64(body), iam_request_headers: base64(JSON.stringify({ ...headers, Authorization })) }
  }
  const logins = []
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    const answer = await fetch(address + '/auth/cloud/login', { method: 'POST', body: JSON.stringify(sign()), signal: AbortSignal.timeout(20000) })
    const { auth, errors } = await answer.json()
    logins.push({ status: answer.status, ms: Math.round(performance.now() - start), token: typeof auth?.client_token === 'string', errors })
  }
  return { logins }
}
`

/**
 * The code of the pod: the code of the probe function, with the credentials that the agent of EKS Pod Identity gives to
 * the pod. It prints one line of JSON: the result of the function, or `fault`. An error's message can contain a secret,
 * so only its code is printed.
 */
export const POD_CODE = `${CODE}
const readCredentials = async env => {
  const uri = env.AWS_CONTAINER_CREDENTIALS_FULL_URI
  if (!uri) return 'the pod has no AWS_CONTAINER_CREDENTIALS_FULL_URI'
  const token = require('node:fs').readFileSync(env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, 'utf8').trim()
  const answer = await fetch(uri, { headers: { Authorization: token }, redirect: 'error', signal: AbortSignal.timeout(20000) })
  if (!answer.ok) return 'the agent answered ' + answer.status
  const { AccessKeyId, SecretAccessKey, Token } = await answer.json()
  Object.assign(env, { AWS_ACCESS_KEY_ID: AccessKeyId, AWS_SECRET_ACCESS_KEY: SecretAccessKey, AWS_SESSION_TOKEN: Token })
}
const main = async () => {
  const { env } = require('node:process')
  const fault = await readCredentials(env)
  return fault ? { fault } : exports.handler(JSON.parse(env.EVENT))
}
main()
  .catch(error => ({ fault: String(error.cause?.code ?? error.code ?? error.name) }))
  .then(result => console.log(JSON.stringify(result)))
`

/**
 * Returns the script of the probe instance. The instance logs in with its signed document until the login succeeds,
 * and terminates itself. The script has no secret, and discards the answers.
 */
const scriptOf = (): object => ({
  'Fn::Sub': `#!/bin/bash
shutdown -h +${INSTANCE_MINUTES}
M=http://169.254.169.254/latest
for i in $(seq 60); do
  T=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $M/api/token)
  D=$(curl -s -H "X-aws-ec2-metadata-token: $T" $M/dynamic/instance-identity/rsa2048 | tr -d '\\n')
  S=$(curl -s -o /dev/null -w '%{http_code}' -d "{\\"role\\":\\"${PROBE_ROLES.ec2}\\",\\"pkcs7\\":\\"$D\\"}" "\${Address}/auth/cloud/login")
  [ "$S" = 200 ] && break
  sleep 5
done
`,
})

/** Builds a role without permissions for a service. */
const buildRole = (service: string, actions: readonly string[]) => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: { Service: service }, Action: actions }],
    },
  },
})

/** Builds the template of the pod's role, which EKS Pod Identity gives to the service account of the run's namespace. */
export const buildPodTemplate = (run: string, eksCluster: string): string =>
  JSON.stringify({
    Resources: {
      Role: buildRole('pods.eks.amazonaws.com', ['sts:AssumeRole', 'sts:TagSession']),
      Association: {
        Type: 'AWS::EKS::PodIdentityAssociation',
        Properties: {
          ClusterName: eksCluster,
          Namespace: nameInRun(run, 'namespace'),
          ServiceAccount: POD_SERVICE_ACCOUNT,
          RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] },
          Tags: [{ Key: RUN_TAG, Value: run }],
        },
      },
    },
  })

/** Builds the template of the probes: a function and the smallest Arm instance, which no address can reach. */
export function buildProbeTemplate(subnet: string | undefined): string {
  const text = { Type: 'String' }
  return JSON.stringify({
    Parameters: {
      Address: text,
      Image: { Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>', Default: IMAGE },
      ...(subnet === undefined ? {} : { Subnet: text, Vpc: text }),
    },
    Resources: {
      Role: buildRole('lambda.amazonaws.com', ['sts:AssumeRole']),
      Function: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Runtime: 'nodejs24.x',
          Architectures: ['arm64'],
          Handler: 'index.handler',
          Timeout: 120,
          MemorySize: 512,
          Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
          Code: { ZipFile: CODE },
        },
      },
      Group: {
        Type: 'AWS::EC2::SecurityGroup',
        Properties: {
          GroupDescription: 'cloud-auth prove: no ingress',
          ...(subnet === undefined ? {} : { VpcId: { Ref: 'Vpc' } }),
        },
      },
      Instance: {
        Type: 'AWS::EC2::Instance',
        Properties: {
          ImageId: { Ref: 'Image' },
          InstanceType: 't4g.nano',
          InstanceInitiatedShutdownBehavior: 'terminate',
          SecurityGroupIds: [{ 'Fn::GetAtt': ['Group', 'GroupId'] }],
          UserData: { 'Fn::Base64': scriptOf() },
          ...(subnet === undefined ? {} : { SubnetId: { Ref: 'Subnet' } }),
        },
      },
    },
    Outputs: {
      Function: { Value: { Ref: 'Function' } },
      Instance: { Value: { Ref: 'Instance' } },
      RoleArn: { Value: { 'Fn::GetAtt': ['Role', 'Arn'] } },
    },
  })
}
