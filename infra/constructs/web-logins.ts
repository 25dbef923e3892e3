import { Annotations, Aws, Duration, SecretValue, type Stack, Token } from 'aws-cdk-lib'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  Distribution,
  type IOrigin,
  OriginProtocolPolicy,
  OriginRequestPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront'
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins'
import {
  ApplicationLogLevel,
  WebFunction,
  WebFunctionAuthType,
  WebFunctionCode,
  WebFunctionRuntime,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { bounds } from '../../shared/values/bounds.ts'
import { defined } from '../../shared/values/defined.ts'
import type { Settings } from '../settings.ts'
import { createLogGroupEncryption } from './account.ts'
import {
  buildFunctionVariables,
  createFunctionRole,
  type FunctionContext,
  logRemovalPolicy,
} from './group-function.ts'
import { webPathRules } from './web-paths.ts'

/** Folder in functions/ of the group that the Web Function serves. */
const NAME = 'login'

/**
 * Seconds by which Lambda's timeout exceeds the program's own timeout, so that the program can still answer.
 */
const GRACE = 5

/** Status codes that CloudFront would cache for ten seconds, whatever Cache-Control says. */
const CACHED_ERRORS = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]

interface WebLoginsProps extends FunctionContext {
  web: NonNullable<Settings['webLogins']>
  /** stack that owns the tables, unless the settings name restored tables */
  owner: Stack
  /** log group of the API's functions */
  logs: LogGroup
  /** host of the API */
  apiHost: string
}

/**
 * Runs logins in a Web Function, where concurrent requests share an environment. All clients use one address,
 * a CloudFront distribution in front of the Web Function and the API.
 * @see docs/do/web-logins.md
 */
export class WebLogins extends Construct {
  readonly distribution: Distribution

  constructor(scope: Construct, id: string, props: WebLoginsProps) {
    super(scope, id)
    const { endpoint } = this.webFunction(props)
    this.distribution = this.distributionOf(props, endpoint.domainName)
  }

  private webFunction(props: WebLoginsProps): WebFunction {
    const { settings, web, logs, bundles } = props
    const ofLogins = { ...props, name: NAME }
    // Lambda writes to this log group first, and would create it without a retention period
    const local = new LogGroup(this, 'LocalLogs', {
      logGroupName: `${logs.logGroupName}.local`,
      ...createLogGroupEncryption(this, settings),
      retention: settings.logRetentionDays,
      removalPolicy: logRemovalPolicy(settings),
    })
    const made = new WebFunction(this, 'Function', {
      // the name must be unique over all regions of an account
      webFunctionName: `cloud-auth-${settings.stage}-${NAME}-${Aws.REGION}`,
      code: WebFunctionCode.fromAssetToManagedBucket(`${bundles}/${NAME}`),
      runtime: WebFunctionRuntime.NODEJS_24_X,
      entryPoint: 'index.mjs',
      role: createFunctionRole(this, ofLogins, [logs, local]),
      environment: { ...buildFunctionVariables(this, ofLogins), ...tableNames(props) },
      logGroup: logs,
      applicationLogLevel: ApplicationLogLevel.INFO,
      timeout: Duration.seconds(bounds.LOGIN_SECONDS + GRACE),
      maxConcurrencyPerEnvironment: web.concurrency,
      // the program itself rejects requests without the proxy's secret
      defaultEndpointAuth: WebFunctionAuthType.APPLICATION_MANAGED,
      defaultEndpoint: defined({ maxEnvironments: web.environments, rateLimit: web.rateLimit }),
    })
    made.node.addDependency(local)
    Annotations.of(made).acknowledgeWarning('@aws-cdk/aws-lambda:webFunctionPublicEndpoint')
    return made
  }

  private distributionOf({ settings, web, apiHost }: WebLoginsProps, webHost: string): Distribution {
    const toApi = behaviour(originAt(apiHost, web.originSecretArn))
    const toWeb = behaviour(originAt(webHost, web.originSecretArn))
    return new Distribution(this, 'Distribution', {
      comment: `cloud-auth: ${settings.clusterName}`,
      domainNames: [new URL(settings.apiAddress ?? '').hostname],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', web.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      ...(web.webAclArn === undefined ? {} : { webAclId: web.webAclArn }),
      defaultBehavior: toApi,
      additionalBehaviors: Object.fromEntries(
        webPathRules.map(([pattern, isWeb]) => [pattern, isWeb ? toWeb : toApi]),
      ),
      errorResponses: CACHED_ERRORS.map(httpStatus => ({ httpStatus, ttl: Duration.seconds(0) })),
    })
  }
}

/**
 * Returns the table names as CloudFormation imports. The CDK also copies all variables into the code asset,
 * where a plain reference to another stack's resource would not resolve.
 */
function tableNames({ store: { cluster, data }, owner }: WebLoginsProps): Record<string, string> {
  const imported = (name: string) => (Token.isUnresolved(name) ? owner.exportValue(name) : name)
  return { CLUSTER_TABLE: imported(cluster.tableName), DATA_TABLE: imported(data.tableName) }
}

const originAt = (host: string, secretArn: string): IOrigin =>
  new HttpOrigin(host, {
    protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
    readTimeout: Duration.seconds(30),
    // CloudFormation reads the secret at deployment; the template has only the secret's name
    customHeaders: { 'X-Origin-Secret': SecretValue.secretsManager(secretArn).unsafeUnwrap() },
  })

/** Returns a CloudFront behaviour that forwards everything except the Host header, and caches nothing. */
const behaviour = (origin: IOrigin): BehaviorOptions => ({
  origin,
  allowedMethods: AllowedMethods.ALLOW_ALL,
  cachePolicy: CachePolicy.CACHING_DISABLED,
  originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
  viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
  compress: false,
})
