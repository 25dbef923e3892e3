import * as v from 'valibot'
import type { AwsCaller } from '../identity/callers.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { awsError } from '../wire/errors.ts'
import { createJsonAction } from './json-protocol.ts'

/** An account with the segments of its path: organization, root, and units from the top. */
interface Placed {
  account: string
  segments: string[]
}

const LARGEST_PAGE = 20

/** Returns the accounts of the caller's organization. @throws AwsError unless the caller is the management account */
function accountsFor({ state }: ImitatedAws, caller: AwsCaller): { id: string; accounts: Placed[] } {
  const own = state.organizations.get(caller.account)
  if (own === undefined)
    throw awsError(
      400,
      'AWSOrganizationsNotInUseException',
      'Your account is not a member of an organization.',
    )
  if (!own.management)
    throw awsError(400, 'AccessDeniedException', "You don't have permissions to access this resource.")
  const accounts = [...state.organizations]
    .filter(([, { organizationId }]) => organizationId === own.organizationId)
    .map(([account, { path }]) => ({ account, segments: path.split('/').filter(Boolean) }))
  return { id: own.organizationId, accounts: accounts.sort((a, b) => a.account.localeCompare(b.account)) }
}

const page = {
  NextToken: v.optional(v.string()),
  MaxResults: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LARGEST_PAGE)),
    LARGEST_PAGE,
  ),
}
const ofParent = v.object({ ParentId: v.pipe(v.string(), v.regex(/^(r|ou)-[0-9a-z-]+$/)), ...page })

/** Returns one page of a list, and where the next page begins. */
function pageOf<T>(
  all: readonly T[],
  { NextToken, MaxResults }: { NextToken?: string | undefined; MaxResults: number },
) {
  const from = Number(NextToken ?? 0)
  if (!Number.isInteger(from)) throw awsError(400, 'InvalidInputException', 'You provided an invalid token.')
  const next = from + MaxResults < all.length ? { NextToken: String(from + MaxResults) } : {}
  return { found: all.slice(from, from + MaxResults), next }
}

/** Returns the different segments that follow `parent` in the paths. @throws AwsError for an unknown parent */
function unitsBelow(accounts: readonly Placed[], parent: string): string[] {
  const below = accounts.filter(({ segments }) => segments.includes(parent))
  if (below.length === 0)
    throw awsError(400, 'ParentNotFoundException', "You specified parent that doesn't exist.")
  return [...new Set(below.flatMap(({ segments }) => segments[segments.indexOf(parent) + 1] ?? []))].sort()
}

/** DescribeOrganization (Organizations API reference). */
export const describeOrganization = createJsonAction(v.object({}), ({ aws, caller }) => {
  const { id } = accountsFor(aws, caller)
  return { Organization: { Id: id, MasterAccountId: caller.account, FeatureSet: 'ALL' } }
})

/** ListRoots. */
export const listRoots = createJsonAction(v.object(page), ({ aws, caller, input }) => {
  const { accounts } = accountsFor(aws, caller)
  const roots = [...new Set(accounts.flatMap(({ segments }) => segments[1] ?? []))]
  const { found, next } = pageOf(roots, input)
  return { Roots: found.map(Id => ({ Id, Name: 'Root' })), ...next }
})

/** ListOrganizationalUnitsForParent. Units without accounts below them do not exist here. */
export const listUnits = createJsonAction(ofParent, ({ aws, caller, input }) => {
  const { found, next } = pageOf(unitsBelow(accountsFor(aws, caller).accounts, input.ParentId), input)
  return { OrganizationalUnits: found.map(Id => ({ Id, Name: Id })), ...next }
})

/** ListAccountsForParent. */
export const listAccounts = createJsonAction(ofParent, ({ aws, caller, input }) => {
  const { accounts } = accountsFor(aws, caller)
  unitsBelow(accounts, input.ParentId)
  const { found, next } = pageOf(
    accounts.filter(({ segments }) => segments.at(-1) === input.ParentId),
    input,
  )
  return {
    Accounts: found.map(({ account }) => {
      const State = aws.state.organizations.get(account)?.suspended ? 'SUSPENDED' : 'ACTIVE'
      return { Id: account, Name: account, State }
    }),
    ...next,
  }
})
