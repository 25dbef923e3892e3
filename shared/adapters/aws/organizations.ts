import type { OrganizationPage, OrganizationReader } from '../../model/organization.ts'
import type { AwsTarget } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { type AwsPartition, partitionOfRegion } from '../../values/region.ts'
import { readWireSettings } from './environment.ts'
import type { AwsProvider } from './provider.ts'
import type { AwsCallSettings } from './provider-settings.ts'
import { parseJsonAnswer, readAwsResult } from './wire/json.ts'
import { ATTEMPT_TIMEOUT_MS } from './wire/limits.ts'
import { unreadableAnswerError } from './wire/service-error.ts'
import { createSignedPost } from './wire/signed-posts.ts'

/** The region of the only endpoint of Organizations in each partition. @see docs/look-up/unverified.md#organizations */
const REGIONS: Readonly<Record<AwsPartition, string>> = {
  aws: 'us-east-1',
  'aws-cn': 'cn-northwest-1',
  'aws-us-gov': 'us-gov-west-1',
  'aws-eusc': 'eusc-de-east-1',
}

const ORGANIZATION = /^o-[a-z0-9]{10,32}$/

/** The action of each list, the member of its answer that has the list, and the form of AWS's IDs. */
const lists = {
  roots: { action: 'ListRoots', member: 'Roots', form: /^r-[0-9a-z]{4,32}$/ },
  units: {
    action: 'ListOrganizationalUnitsForParent',
    member: 'OrganizationalUnits',
    form: /^ou-[0-9a-z]{4,32}-[a-z0-9]{8,32}$/,
  },
  accounts: { action: 'ListAccountsForParent', member: 'Accounts', form: /^\d{12}$/ },
} as const

type SendAction = (action: string, input: object, ms: number) => Promise<Record<string, unknown>>

/** Reads the structure of an AWS organization. The caller limits the rate and repeats throttled calls. */
export function createOrganizationReader(provider: AwsProvider): OrganizationReader<AwsTarget> {
  const call = (target: AwsTarget, deadline: number, action: string, input: object) =>
    provider.call('organizations', target, deadline, sendTo, (send, ms) => send(action, input, ms))
  return {
    describe: async (target, deadline) => {
      const { Organization } = await call(target, deadline, 'DescribeOrganization', {})
      return readId(Organization, ORGANIZATION)
    },
    list: async (target, what, parent, next, deadline): Promise<OrganizationPage> => {
      const { action, member, form } = lists[what]
      const input = defined({ ParentId: parent || undefined, NextToken: next })
      const { [member]: found, NextToken } = await call(target, deadline, action, input)
      if (!Array.isArray(found)) throw unreadable()
      const ids = [...new Set(found.filter(isUsable).map(one => readId(one, form)))]
      return typeof NextToken === 'string' && NextToken !== '' ? { ids, next: NextToken } : { ids }
    },
  }
}

const unreadable = (): Error => unreadableAnswerError('the answer of Organizations has another form')

function readId(member: unknown, form: RegExp): string {
  const { Id } = (member ?? {}) as { Id?: unknown }
  if (typeof Id !== 'string' || !form.test(Id)) throw unreadable()
  return Id
}

/** Reports whether an account is not suspended or closed. AWS replaces `Status` by `State`; units have neither. */
const isUsable = (member: { State?: unknown; Status?: unknown } | null): boolean =>
  (member?.State ?? member?.Status ?? 'ACTIVE') === 'ACTIVE'

function sendTo({ region, credentials }: AwsCallSettings): SendAction {
  const settings = { ...readWireSettings(), region: REGIONS[partitionOfRegion(region) ?? 'aws'] }
  const post = createSignedPost({ service: 'organizations', settings, credentials })
  return async (action, input, ms) => {
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `AWSOrganizationsV20161128.${action}`,
    }
    return readAwsResult(
      parseJsonAnswer(await post(headers, JSON.stringify(input), Math.min(ms, ATTEMPT_TIMEOUT_MS))),
    )
  }
}
