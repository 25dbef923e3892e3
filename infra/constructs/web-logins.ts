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
import { logGroupEncryption } from './account.ts'
import {
  buildFunctionVariables,
  createFunctionRole,
  type FunctionContext,
  logRemovalPolicy,
} from './group-function.ts'
import { webPaths } from './web-paths.ts'

/** The group whose endpoints the Web Function serves, by its folder in functions/. */
const NAME = 'login'

/** Seconds by which Lambda gives a request more time than the program does, which then answers it. */
const GRACE = 5

/** What CloudFront would give to others for ten seconds, whatever the answer says of caching. */
const CACHED_ERRORS = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]

interface WebLoginsProps extends FunctionContext {
  web: NonNullable<Settings['webLogins']>
  /** stack of the tables, where the settings name no others */
  owner: Stack
  /** log group of the functions of the API */
  logs: LogGroup
  /** host of the API */
  apiHost: string
}

/**
 * Logins in a Web Function, where requests that wait at the same time share an environment, and the one address of all
 * clients: a distribution in front of it and of the API.
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
    // Lambda writes there first, and would make it without a retention
    const local = new LogGroup(this, 'LocalLogs', {
      logGroupName: `${logs.logGroupName}.local`,
      ...logGroupEncryption(this, settings),
      retention: settings.logRetentionDays,
      removalPolicy: logRemovalPolicy(settings),
    })
    const made = new WebFunction(this, 'Function', {
      // one name serves all regions of an account
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
      // whoever comes without the proxy's secret is refused by the program
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
        webPaths.map(([pattern, isWeb]) => [pattern, isWeb ? toWeb : toApi]),
      ),
      errorResponses: CACHED_ERRORS.map(httpStatus => ({ httpStatus, ttl: Duration.seconds(0) })),
    })
  }
}

/**
 * The names of tables as imports. The CDK's copy of the code has all variables in it too, and of what another stack has made
 * it would have a reference that leads nowhere.
 */
function tableNames({ store: { cluster, data }, owner }: WebLoginsProps): Record<string, string> {
  const imported = (name: string) => (Token.isUnresolved(name) ? owner.exportValue(name) : name)
  return { CLUSTER_TABLE: imported(cluster.tableName), DATA_TABLE: imported(data.tableName) }
}

const originAt = (host: string, secretArn: string): IOrigin =>
  new HttpOrigin(host, {
    protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
    readTimeout: Duration.seconds(30),
    // CloudFormation puts it in; the template has its name only
    customHeaders: { 'X-Origin-Secret': SecretValue.secretsManager(secretArn).unsafeUnwrap() },
  })

/** Passes on everything but the name by which it was called, and keeps nothing. */
const behaviour = (origin: IOrigin): BehaviorOptions => ({
  origin,
  allowedMethods: AllowedMethods.ALLOW_ALL,
  cachePolicy: CachePolicy.CACHING_DISABLED,
  originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
  viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
  compress: false,
})
