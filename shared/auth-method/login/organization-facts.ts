/** The mount and the time of a look-up. */
export interface PlaceLookUp {
  mount: { accessor: string }
  /** epoch milliseconds */
  now: number
}

/** The comparison of each binding to an organization: the value seen, and whether it satisfies the role. */
export type OrganizationFacts = Readonly<Record<string, { seen: unknown; isMet: boolean } | undefined>>
