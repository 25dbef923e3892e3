/** The settings by which a mount reads an AWS organization. @see docs/spec/configuration.md#organization */
export interface OrganizationConfig {
  /** ARN of the role to assume in the management account or a delegated account; empty: own credentials */
  role: string
  /** `externalId` that the role requires; empty: none */
  externalId: string
  /** `maxAge`: seconds after the last complete round after which logins are refused */
  maxAge: number
}

/** Stands for the account of the credentials, where a target has no account ID. Only reading an organization uses it. */
export const OWN_ACCOUNT = 'own'

/** The state of a mount's map of its organization. Times are epoch milliseconds. */
export interface OrganizationMap {
  /** ID of the organization; absent before the first complete round */
  organization?: string
  /** number of accounts after the last complete round */
  accounts: number
  /** end of the last complete round; 0: never */
  completedAt: number
  /** as in the configuration, so that a login need not read the configuration */
  maxAge: number
  /**
   * `round`: the round that runs; no other round begins before `until`, unless a promotion has begun another `epoch`.
   * Without `epoch` the cluster is in no set
   */
  round?: { runner: string; until: number; epoch?: string }
  /** why the last round failed; absent: it did not fail */
  lastError?: string
}

/** The place of an AWS account, by its account ID. */
export interface OrganizationAccount {
  organization: string
  /** `o-…/r-…/ou-…`, without a slash at its end */
  path: string
}

/** One page of a list; `next` is absent at the end. */
export interface OrganizationPage {
  /** IDs of roots, organizational units or accounts */
  ids: readonly string[]
  next?: string
}

/** AWS Organizations. Faults of the provider are thrown as ApiError `provider_failed` or `busy`. */
export interface OrganizationReader<Target> {
  /** Returns the ID of the organization of the target's account. */
  describe(target: Target, deadline: number): Promise<string>
  /**
   * Lists one page. Accounts that are suspended or being closed are left out.
   * @param parent ID of a root or an organizational unit; empty for roots
   */
  list(
    target: Target,
    what: 'roots' | 'units' | 'accounts',
    parent: string,
    next: string | undefined,
    deadline: number,
  ): Promise<OrganizationPage>
}

/** Reports whether a map is too old to admit accounts. @param now epoch milliseconds */
export const isMapStale = ({ completedAt, maxAge }: OrganizationMap, now: number): boolean =>
  now - completedAt > maxAge * 1000
