import { ArnFormat, Stack } from 'aws-cdk-lib'
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { type EndpointGroup, routesOf } from '../../../shared/api/endpoint.ts'
import { linkPath } from '../../../shared/link/routes.ts'

/** Returns the paths that lead to a group's Lambda function. */
export const apiPathsOfGroup = (group: EndpointGroup): string[] => routesOf(group).map(path => `/v1${path}`)

/** Route of requests that match no path. */
export const DEFAULT_ROUTE = '/$default'

/** Routes with a throttle of their own: calls of other clusters, and health checks. */
export const LINK_ROUTE = `${linkPath}{proxy+}`
export const HEALTH_ROUTE = '/v1/sys/health'

/** A Lambda function as callers invoke it: the function itself or an alias. */
export type InvokedFunction = Pick<IFunction, 'functionArn'>

/** A Lambda function with the paths that lead to it. */
export interface ServedFunction {
  name: string
  lambda: InvokedFunction
  paths: readonly string[]
}

/** Returns the ARN by which API Gateway invokes a Lambda function. */
export const invocationArnOf = (scope: Construct, { functionArn }: InvokedFunction): string =>
  Stack.of(scope).formatArn({
    service: 'apigateway',
    account: 'lambda',
    resource: 'path',
    resourceName: `2015-03-31/functions/${functionArn}/invocations`,
  })

/** Allows one API to invoke a Lambda function. */
export const permitInvocation = (scope: Construct, { name, lambda }: ServedFunction, api: string): void => {
  new CfnPermission(scope, `${name} permission`, {
    action: 'lambda:InvokeFunction',
    functionName: lambda.functionArn,
    principal: 'apigateway.amazonaws.com',
    sourceArn: Stack.of(scope).formatArn({
      service: 'execute-api',
      resource: api,
      resourceName: '*',
      arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
    }),
  })
}

/** Returns the parameters of a path with their names in OpenAPI: `{proxy+}` becomes `proxy`. */
export const requestParametersOf = (path: string) =>
  [...path.matchAll(/\{([^}+]+)\+?\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
