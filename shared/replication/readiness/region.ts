import type { ClientConfig, StsRole } from '../../model/config.ts'
import type { Deployment } from '../../ports.ts'
import { matchesRolePattern } from '../../values/arn.ts'

/** A stored setting that may hold in one place and not in another. */
export interface PlacedSetting {
  /** where it is written, below `/v1` */
  path: string
  field: string
  value: string
  /** the region that it names; empty: none that can be told */
  region: string
  /** whether that is not the region of this cluster; of what names none, whether it might not work here */
  elsewhere: boolean
  text: string
}

const REGION = /(?:^|[.-])((?:[a-z]{2}|us-gov|us-iso[a-z]?|eu-isoe|eusc-de)-[a-z]+-\d)(?=$|[.-])/

/** The region that the host of an endpoint names; empty where it names none. */
export const regionIn = (endpoint: string): string =>
  REGION.exec(URL.canParse(endpoint) ? new URL(endpoint).hostname : '')?.[1] ?? ''

const endpoints = { endpoint: 'endpoint', iamEndpoint: 'iam_endpoint', stsEndpoint: 'sts_endpoint' } as const

/** Settings of a mount's calls to AWS that name a region, or a host that may be reached from one network only. */
export function placedInConfig(
  path: string,
  config: Readonly<ClientConfig>,
  { region: here }: Pick<Deployment, 'region'>,
): PlacedSetting[] {
  const { stsRegion } = config
  const named = stsRegion === '' ? [] : [placed(path, 'sts_region', stsRegion, stsRegion, here)]
  const hosts = (Object.keys(endpoints) as (keyof typeof endpoints)[])
    .filter(name => config[name] !== '')
    .map(name => placed(path, endpoints[name], config[name], regionIn(config[name]), here))
  return [...named, ...hosts]
}

function placed(path: string, field: string, value: string, region: string, here: string): PlacedSetting {
  const elsewhere = region !== here
  const text =
    region === ''
      ? 'names no region: see that it is reached from here'
      : elsewhere
        ? `calls go to ${region}, and this cluster is in ${here}: they end when that region does`
        : 'names the region of this cluster'
  return { path, field, value, region, elsewhere, text }
}

/** A role of a satellite account that this deployment may not assume, whatever the one before might. */
export const placedRole = (
  path: string,
  { role }: Readonly<StsRole>,
  { assumableRoles }: Pick<Deployment, 'assumableRoles'>,
): PlacedSetting[] =>
  assumableRoles.some(pattern => matchesRolePattern(pattern, role))
    ? []
    : [
        {
          ...{ path, field: 'sts_role', value: role, region: '', elsewhere: true },
          text: 'this deployment may not assume it: widen its setting assumableRoleArns',
        },
      ]
