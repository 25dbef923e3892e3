import { type CfnApi, CfnApiMapping, CfnDomainName, type CfnStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { CfnRecordSet } from 'aws-cdk-lib/aws-route53'
import { Construct } from 'constructs'
import { defined } from '../../../shared/values/defined.ts'
import type { Settings } from '../../settings.ts'

type Domain = NonNullable<Settings['domain']>

/** Target of a DNS alias record. */
export interface DnsAliasTarget {
  dnsName: string
  zoneId: string
}

/** Adds a DNS alias record for a name, if the settings name its hosted zone. */
export function addDnsAlias(
  scope: Construct,
  { name, zoneId }: Pick<Domain, 'name' | 'zoneId'>,
  to: DnsAliasTarget,
): void {
  if (zoneId === undefined) return
  new CfnRecordSet(scope, 'Alias', {
    hostedZoneId: zoneId,
    name,
    type: 'A',
    aliasTarget: { dnsName: to.dnsName, hostedZoneId: to.zoneId },
  })
}

interface ApiDomainProps {
  domain: Domain
  api: CfnApi
  stage: CfnStage
}

/** A custom domain of an HTTP API with its certificate and, optionally, a trust store for client certificates. */
export class ApiDomain extends Construct {
  readonly target: DnsAliasTarget

  /** @param domain without `zoneId`, the operator makes the DNS record */
  constructor(scope: Construct, id: string, { domain, api, stage }: ApiDomainProps) {
    super(scope, id)
    const { name, certificateArn, truststore } = domain
    const made = new CfnDomainName(this, 'Name', {
      domainName: name,
      domainNameConfigurations: [{ certificateArn, endpointType: 'REGIONAL', securityPolicy: 'TLS_1_2' }],
      ...(truststore && {
        mutualTlsAuthentication: defined({
          truststoreUri: truststore.uri,
          truststoreVersion: truststore.version,
        }),
      }),
    })
    new CfnApiMapping(this, 'Mapping', { apiId: api.ref, domainName: made.ref, stage: stage.ref })
    this.target = { dnsName: made.attrRegionalDomainName, zoneId: made.attrRegionalHostedZoneId }
    addDnsAlias(this, domain, this.target)
  }
}
