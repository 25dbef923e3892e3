import { ArnFormat, Stack } from 'aws-cdk-lib'
import { type CfnApi, CfnIntegration, CfnRoute } from 'aws-cdk-lib/aws-apigatewayv2'
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { type Group, routesOf } from '../../shared/api/endpoint.ts'

/** Route keys of a group. The verb is left to us: what we answer to a wrong one is part of the interface. */
export const routeKeysOf = (group: Group): string[] => routesOf(group).map(path => `ANY /v1${path}`)

interface RoutesProps {
  api: CfnApi
  lambda: IFunction
  keys: readonly string[]
}

/** Routes of one Lambda: one integration and one permission for all of them. */
export class Routes extends Construct {
  constructor(scope: Construct, id: string, { api, lambda, keys }: RoutesProps) {
    super(scope, id)
    const integration = new CfnIntegration(this, 'Integration', {
      apiId: api.ref,
      integrationType: 'AWS_PROXY',
      integrationUri: lambda.functionArn,
      payloadFormatVersion: '2.0',
    })
    for (const routeKey of keys) {
      new CfnRoute(this, `Route ${routeKey.replaceAll('/', ' ')}`, {
        apiId: api.ref,
        routeKey,
        target: `integrations/${integration.ref}`,
      })
    }
    new CfnPermission(this, 'Permission', {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'apigateway.amazonaws.com',
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: api.ref,
        resourceName: '*',
        arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
      }),
    })
  }
}
