import { ArnFormat, Stack } from 'aws-cdk-lib'
import { CfnApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { type Group, routesOf } from '../../shared/api/endpoint.ts'
import { defined } from '../../shared/values/defined.ts'
import { version } from '../build/functions.ts'
import type { Settings } from '../settings.ts'

/** Paths that the gateway routes to a group's Lambda. */
export const pathsOfGroup = (group: Group): string[] => routesOf(group).map(path => `/v1${path}`)

/** Where requests go that no path names. */
export const DEFAULT_ROUTE = '/$default'

/** What is called of a Lambda. */
type Called = Pick<IFunction, 'functionArn'>

/** A Lambda, and the paths that lead to it. */
interface Served {
  name: string
  lambda: Called
  paths: readonly string[]
}

interface HttpApiProps {
  settings: Settings
  served: readonly Served[]
}

/**
 * The HTTP API as one definition that is imported whole: a resource for each route would be a call each to a
 * control plane that takes a few in a second. It names the functions, so no function may name it.
 */
export class HttpApi extends Construct {
  readonly api: CfnApi

  constructor(scope: Construct, id: string, { settings, served }: HttpApiProps) {
    super(scope, id)
    this.api = new CfnApi(scope, 'Api', {
      body: definitionOf(settings, served, lambda => this.invocationOf(lambda)),
      failOnWarnings: true,
    })
    for (const { name, lambda } of served) this.permit(name, lambda)
  }

  private invocationOf({ functionArn }: Called): string {
    return Stack.of(this).formatArn({
      service: 'apigateway',
      account: 'lambda',
      resource: 'path',
      resourceName: `2015-03-31/functions/${functionArn}/invocations`,
    })
  }

  private permit(name: string, lambda: Called): void {
    new CfnPermission(this, `${name} permission`, {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'apigateway.amazonaws.com',
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: this.api.ref,
        resourceName: '*',
        arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
      }),
    })
  }
}

/**
 * The definition in OpenAPI 3.0 with the gateway's extensions: one integration for each Lambda, which all its
 * paths share. The verb is left to us: what we answer to a wrong one is part of the interface.
 */
const definitionOf = (
  { clusterName, apiAddress, closeDefaultEndpoint }: Settings,
  served: readonly Served[],
  uriOf: (lambda: Called) => string,
) =>
  defined({
    openapi: '3.0.1',
    info: { title: clusterName, version },
    // an import reads this member of a server, and complains of one without address
    servers:
      closeDefaultEndpoint && apiAddress
        ? [
            {
              url: apiAddress,
              'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true },
            },
          ]
        : undefined,
    paths: Object.fromEntries(
      served.flatMap(({ name, paths }) => paths.map(path => [path, pathItem(name, path)] as const)),
    ),
    components: {
      'x-amazon-apigateway-integrations': Object.fromEntries(
        served.map(({ name, lambda }) => [
          name,
          { type: 'aws_proxy', httpMethod: 'POST', payloadFormatVersion: '2.0', uri: uriOf(lambda) },
        ]),
      ),
    },
  })

const pathItem = (integration: string, path: string) => {
  const parameters = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  return {
    'x-amazon-apigateway-any-method': defined({
      isDefaultRoute: path === DEFAULT_ROUTE || undefined,
      parameters: parameters.length > 0 ? parameters : undefined,
      responses: { default: { description: 'what the function answers' } },
      'x-amazon-apigateway-integration': {
        $ref: `#/components/x-amazon-apigateway-integrations/${integration}`,
      },
    }),
  }
}
