import { ArnFormat, Stack } from 'aws-cdk-lib'
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { type Group, routesOf } from '../../../shared/api/endpoint.ts'
import { linkPath } from '../../../shared/link/routes.ts'

/** Paths that lead to a group's Lambda. */
export const pathsOfGroup = (group: Group): string[] => routesOf(group).map(path => `/v1${path}`)

/** Where requests go that no path names. */
export const DEFAULT_ROUTE = '/$default'

/** Routes that have a throttle of their own: other clusters of a set, and those that ask whether this one serves. */
export const LINK_ROUTE = `${linkPath}{proxy+}`
export const HEALTH_ROUTE = '/v1/sys/health'

/** What is called of a Lambda: itself, or an alias. */
export type InvokedFunction = Pick<IFunction, 'functionArn'>

/** A Lambda, and the paths that lead to it. */
export interface ServedFunction {
  name: string
  lambda: InvokedFunction
  paths: readonly string[]
}

/** Where API Gateway finds a Lambda. */
export const invocationArn = (scope: Construct, { functionArn }: InvokedFunction): string =>
  Stack.of(scope).formatArn({
    service: 'apigateway',
    account: 'lambda',
    resource: 'path',
    resourceName: `2015-03-31/functions/${functionArn}/invocations`,
  })

/** Lets an API, and no other, call a Lambda. */
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

/** The parameters of a path, as its definition names them: a greedy one, `{proxy+}`, is called `proxy`. */
export const pathParameters = (path: string) =>
  [...path.matchAll(/\{([^}+]+)\+?\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
