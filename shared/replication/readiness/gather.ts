import type { Call } from '../../api/call.ts'
import { DR_REPLICATION_FEATURE, readLicence } from '../../api/licence.ts'
import { LINK_FORMAT } from '../../link/source.ts'
import type { AwsClientConfig, StsRoleConfig } from '../../model/config.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import type { Deployment } from '../../ports.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { isAssumableRole } from '../../values/arn.ts'
import { formatTime } from '../../values/time.ts'

/** Maximum number of settings that a readiness answer lists. */
const MOST_SETTINGS = 200
/** Partitions that are read in parallel. */
const AT_ONCE = 16

/** Returns stored settings that depend on the region or the deployment, and may therefore fail after a promotion. */
async function placedSettings({ ports, mounts }: Call): Promise<PlacedSetting[]> {
  const { store, deployment } = ports
  const methods = mounts.mounts.filter(isAuthMethodMount)
  const configs = await store.read(methods.map(({ accessor }) => key('client-config', accessor)))
  const found = methods.flatMap(({ path }, index) => {
    const config = configs[index] as Item<'client-config'> | undefined
    return config ? findPlacedSettings(`auth/${path}/config/client`, config.data, deployment) : []
  })
  for (let from = 0; from < methods.length && found.length < MOST_SETTINGS; from += AT_ONCE) {
    const some = methods.slice(from, from + AT_ONCE)
    const roles = await Promise.all(
      some.map(({ accessor }) => store.list(itemPartitions('sts-role', accessor))),
    )
    for (const [index, { path }] of some.entries())
      for (const { sk, data } of roles[index] ?? [])
        found.push(...findUnassumableRole(`auth/${path}/config/sts/${sk}`, data, deployment))
  }
  return found.slice(0, MOST_SETTINGS)
}

/** Returns the part of readiness that primary and secondary share. */
export async function describeOwnCluster(call: Call) {
  const { store, deployment } = call.ports
  const [recovery] = await store.read([key('recovery-key')])
  const { shares = 0, threshold = 0 } = recovery?.data ?? {}
  return {
    versions: { version: deployment.version, api_version: deployment.apiVersion, format: LINK_FORMAT },
    recovery: { shares, threshold },
    region: { own: deployment.region, settings: await placedSettings(call) },
    license: showLicence(deployment.license, call.now),
  }
}

/**
 * Returns the licence as readiness shows it. The licence must be valid when a former primary returns with a token
 * of its successor.
 */
function showLicence(license: Call['ports']['deployment']['license'], now: number) {
  const licensing = readLicence(license)
  if (!licensing.ok) return { ends: '', seconds_left: 0, text: licensing.fault }
  const { endsAt, features } = licensing.value
  const left = Math.max(0, endsAt - Math.floor(now / 1000))
  const text = features.includes(DR_REPLICATION_FEATURE)
    ? left > 0
      ? ''
      : 'the licence has expired: promotions still work, but the new primary makes no tokens for other clusters'
    : `the licence does not name ${DR_REPLICATION_FEATURE}`
  return { ends: formatTime(endsAt * 1000), seconds_left: left, text }
}

/** Shows the result of decrypting a field of every term. */
export const describeKeyringTest = (
  { opened, failed }: { readonly opened: number; readonly failed: readonly string[] },
  term: number,
) => ({ opens: opened > 0 && failed.length === 0, fields_tried: opened + failed.length, failed, term })

const REGION = /(?:^|[.-])((?:[a-z]{2}|us-gov|us-iso[a-z]?|eu-isoe|eusc-de)-[a-z]+-\d)(?=$|[.-])/

/** Returns the region in the host of an endpoint; empty if the host names no region. */
export const regionOfEndpoint = (endpoint: string): string =>
  REGION.exec(URL.canParse(endpoint) ? new URL(endpoint).hostname : '')?.[1] ?? ''

const endpoints = { endpoint: 'endpoint', iamEndpoint: 'iam_endpoint', stsEndpoint: 'sts_endpoint' } as const

/** Returns settings of a mount's AWS calls that name a region, or a host that may only be reachable from one network. */
export function findPlacedSettings(
  path: string,
  config: Readonly<AwsClientConfig>,
  { region: here }: Pick<Deployment, 'region'>,
): PlacedSetting[] {
  const { stsRegion } = config
  const named = stsRegion === '' ? [] : [placeSetting(path, 'sts_region', stsRegion, stsRegion, here)]
  const hosts = (Object.keys(endpoints) as (keyof typeof endpoints)[])
    .filter(name => config[name] !== '')
    .map(name => placeSetting(path, endpoints[name], config[name], regionOfEndpoint(config[name]), here))
  return [...named, ...hosts]
}

/**
 * Describes a stored setting that may work in one place and not in another.
 * @param path below `/v1`
 * @param region that the value names; empty: none, or unknown
 */
function placeSetting(path: string, field: string, value: string, region: string, here: string) {
  const elsewhere = region !== here
  const text =
    region === ''
      ? 'the setting names no region: check that this cluster reaches the endpoint'
      : elsewhere
        ? `the setting sends calls to ${region}, and this cluster is in ${here}: the calls fail if ${region} fails`
        : 'the setting names the region of this cluster'
  return { path, field, value, region, elsewhere, text }
}

/** `elsewhere`: the setting names another region, or, without a region, may not work here. */
type PlacedSetting = ReturnType<typeof placeSetting>

/** Returns the STS role as a finding if this deployment may not assume it. */
export const findUnassumableRole = (
  path: string,
  { role }: Readonly<StsRoleConfig>,
  { assumableRoles }: Pick<Deployment, 'assumableRoles'>,
): PlacedSetting[] =>
  isAssumableRole(assumableRoles, role)
    ? []
    : [
        {
          path,
          field: 'sts_role',
          value: role,
          region: '',
          elsewhere: true,
          text: 'this deployment may not assume the STS role: widen the setting assumableRoleArns',
        },
      ]
