import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { readSettings, type Settings } from '../settings.ts'

const given = v.record(v.string(), v.unknown())

const cluster = v.strictObject({
  account: v.pipe(v.string(), v.regex(/^\d{12}$/, 'must be an account id of 12 digits')),
  region: v.pipe(v.string(), v.regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'must be a region such as us-east-1')),
  /** AWS profile for the cluster's account; absent: the environment's credentials */
  profile: v.optional(v.pipe(v.string(), v.nonEmpty())),
  /** settings of this cluster in addition to `both` */
  settings: v.optional(given, {}),
})

const schema = v.strictObject({
  /** settings that both clusters share, such as stage, licence and CA certificates */
  both: given,
  /** by the clusters' names */
  clusters: v.pipe(
    v.record(
      v.pipe(
        v.string(),
        v.regex(
          /^[a-z][a-z0-9-]{0,19}$/,
          'cluster names must begin with a letter and have at most 20 lower-case letters, digits and dashes',
        ),
      ),
      cluster,
    ),
    v.check(all => Object.keys(all).length === 2, 'must have exactly two clusters'),
  ),
  /** settings of drills, which either cluster starts while it is the primary */
  drill: v.optional(v.strictObject({ schedule: v.string(), policy: v.string() })),
})

/** A cluster of a pair. */
export interface MemberPlan {
  name: string
  account: string
  region: string
  profile: string | undefined
  /** address at which clients, operators and the other cluster reach the cluster */
  address: string
  /** the cluster's settings in the form of a deployment */
  rawSettings: Record<string, unknown>
  settings: Settings
}

export type PairPlan = readonly [MemberPlan, MemberPlan]

type Given = v.InferOutput<typeof schema>

/**
 * Returns a cluster's address from its settings. Addresses of the clusters are fixed names, so neither cluster
 * waits for an output of the other cluster.
 */
const readAddress = (own: Record<string, unknown>): string | undefined => {
  const { apiAddress, domain } = own as { apiAddress?: string; domain?: { name?: string } }
  return apiAddress ?? (domain?.name === undefined ? undefined : `https://${domain.name}`)
}

function planMembers({ both, clusters, drill }: Given): PairPlan {
  const all = Object.entries(clusters).map(([name, { settings, ...place }]) => {
    const own: Record<string, unknown> = { clusterName: name, ...both, ...settings }
    return { name, ...place, own, address: readAddress(own) }
  })
  const [first, second] = all.map(({ own, address, ...one }): MemberPlan => {
    const peer = all.find(({ name }) => name !== one.name)?.address
    const rawSettings = drill ? { ...own, drill: { ...drill, peer } } : own
    if (address === undefined)
      throw new Error(
        `${one.name}: domain or apiAddress is required, because other clusters of the set store it`,
      )
    try {
      return { ...one, profile: one.profile, address, rawSettings, settings: readSettings(rawSettings) }
    } catch (error) {
      throw new Error(`${one.name}: ${(error as Error).message}`)
    }
  })
  if (!first || !second) throw new Error('a pair has exactly two clusters')
  return [first, second]
}

/** Returns the fault of a pair's settings, or undefined if the settings are correct. */
function findPairFault([first, second]: PairPlan): string | undefined {
  if (first.address === second.address) return 'both clusters have the same address'
  if (first.settings.stage !== second.settings.stage)
    return 'both clusters must have the same stage; set it under "both"'
  if (first.account === second.account && first.region === second.region)
    return 'both clusters have the same account and region, where their function names would collide'
  const unlicensed = [first, second].find(one => one.settings.license === undefined)
  if (unlicensed) return `${unlicensed.name} has no licence: every primary needs a licence`
  const shared = [first, second].map(one => one.settings.sharedAddress)
  if (shared.some(Boolean) && shared.filter(one => one?.preferred).length !== 1)
    return 'sharedAddress.preferred must be true in exactly one cluster'
  return undefined
}

/**
 * Reads the settings of a pair.
 * @param value parsed JSON
 * @throws Error that names the faults
 */
export function parsePairPlan(value: unknown): PairPlan {
  const read = v.safeParse(schema, value)
  if (!read.success) {
    const faults = read.issues.map(issue => `  ${v.getDotPath(issue) ?? 'pair'}: ${issue.message}`)
    throw new Error(`the pair is not usable:\n${faults.join('\n')}`)
  }
  const pair = planMembers(read.output)
  const fault = findPairFault(pair)
  if (fault) throw new Error(`the pair is not usable:\n  ${fault}`)
  return pair
}

export const readPairPlanFile = (file: string): PairPlan =>
  parsePairPlan(JSON.parse(readFileSync(file, 'utf8')))
