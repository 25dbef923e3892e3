import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { readSettings, type Settings } from '../settings.ts'

const given = v.record(v.string(), v.unknown())

const cluster = v.strictObject({
  account: v.pipe(v.string(), v.regex(/^\d{12}$/, 'must be the number of an account, 12 digits')),
  region: v.pipe(v.string(), v.regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'must be a region such as us-east-1')),
  /** profile of the credentials for its account; absent: those of the environment */
  profile: v.optional(v.pipe(v.string(), v.nonEmpty())),
  /** what this cluster has besides what both have */
  settings: v.optional(given, {}),
})

const schema = v.strictObject({
  /** settings of both: stage, licence, certificates of authorities, and whatever shall be the same */
  both: given,
  /** by name, which is that of the cluster */
  clusters: v.pipe(
    v.record(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,19}$/, 'must have names in lower case')), cluster),
    v.check(all => Object.keys(all).length === 2, 'must be two'),
  ),
  /** rehearsals, which either begins as long as it is the primary */
  drill: v.optional(v.strictObject({ schedule: v.string(), policy: v.string() })),
})

/** A cluster of a pair. */
export interface MemberPlan {
  name: string
  account: string
  region: string
  profile: string | undefined
  /** where clients, operators and the other cluster find it */
  address: string
  /** as a deployment is given them */
  given: Record<string, unknown>
  settings: Settings
}

export type PairPlan = readonly [MemberPlan, MemberPlan]

type Given = v.InferOutput<typeof schema>

/** Address by what was written down: names are fixed, so neither cluster waits for what the other is given. */
const addressIn = (own: Record<string, unknown>): string | undefined => {
  const { apiAddress, domain } = own as { apiAddress?: string; domain?: { name?: string } }
  return apiAddress ?? (domain?.name === undefined ? undefined : `https://${domain.name}`)
}

function members({ both, clusters, drill }: Given): PairPlan {
  const all = Object.entries(clusters).map(([name, { settings, ...place }]) => {
    const own: Record<string, unknown> = { clusterName: name, ...both, ...settings }
    return { name, ...place, own, address: addressIn(own) }
  })
  const made = all.map(({ own, address, ...one }) => {
    const peer = all.find(({ name }) => name !== one.name)?.address
    const told = drill ? { ...own, drill: { ...drill, peer } } : own
    if (address === undefined)
      throw new Error(`${one.name}: domain or apiAddress is needed, for others of the set remember it`)
    try {
      return { ...one, profile: one.profile, address, given: told, settings: readSettings(told) }
    } catch (error) {
      throw new Error(`${one.name}: ${(error as Error).message}`)
    }
  })
  return made as unknown as PairPlan
}

/** What is wrong with both together; undefined: nothing. */
function faultOf([first, second]: PairPlan): string | undefined {
  if (first.address === second.address) return 'both clusters have one address'
  if (first.settings.stage !== second.settings.stage)
    return 'both clusters must have one stage: write it under "both"'
  if (first.account === second.account && first.region === second.region)
    return 'both clusters would be deployed to one place: names of functions are the same there'
  const unlicensed = [first, second].find(one => one.settings.license === undefined)
  if (unlicensed) return `${unlicensed.name} has no licence: whoever is a primary needs one`
  const shared = [first, second].map(one => one.settings.sharedAddress)
  if (shared.some(Boolean) && shared.filter(one => one?.preferred).length !== 1)
    return 'sharedAddress must be preferred in one of both'
  return undefined
}

/**
 * Reads what a pair is made of.
 * @param value as JSON has it
 * @throws Error naming what is wrong
 */
export function readPair(value: unknown): PairPlan {
  const read = v.safeParse(schema, value)
  if (!read.success) {
    const faults = read.issues.map(issue => `  ${v.getDotPath(issue) ?? 'pair'}: ${issue.message}`)
    throw new Error(`the pair is not usable:\n${faults.join('\n')}`)
  }
  const pair = members(read.output)
  const fault = faultOf(pair)
  if (fault) throw new Error(`the pair is not usable:\n  ${fault}`)
  return pair
}

export const readPairFile = (file: string): PairPlan => readPair(JSON.parse(readFileSync(file, 'utf8')))
