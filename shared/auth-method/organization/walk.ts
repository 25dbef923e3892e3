import type { OrganizationPage } from '../../model/organization.ts'

/** A page that a round has yet to read: the children of a root or an organizational unit. */
export interface PlannedPage {
  what: 'units' | 'accounts'
  /** ID of the parent */
  parent: string
  /** path of the parent: `o-…/r-…/ou-…` */
  path: string
  /** absent: the first page */
  next?: string | undefined
}

/** Returns the pages to read for a root, or for a unit of an organization. */
export const planParent = (parent: string, path: string): PlannedPage[] => [
  { what: 'accounts', parent, path },
  { what: 'units', parent, path },
]

/**
 * Returns the pages that a round reads after a page. The children of a unit come before its siblings, so that the list of
 * waiting pages stays short.
 * @param pages the page that was read, and the pages behind it
 */
export function planNextPages(
  [read, ...rest]: readonly [PlannedPage, ...PlannedPage[]],
  { ids, next }: OrganizationPage,
): PlannedPage[] {
  const more = next === undefined ? [] : [{ ...read, next }]
  const children = read.what === 'units' ? ids.flatMap(id => planParent(id, `${read.path}/${id}`)) : []
  return [...children, ...more, ...rest]
}

const BYTES = 5

/** Packs account IDs, which have 12 digits, into five bytes each. */
export function packAccounts(accounts: ReadonlySet<string>): string {
  const packed = Buffer.alloc(accounts.size * BYTES)
  for (const [index, account] of [...accounts].entries())
    packed.writeUIntBE(Number(account), index * BYTES, BYTES)
  return packed.toString('base64')
}

/** Reverses `packAccounts`. */
export function unpackAccounts(packed: string): Set<string> {
  const bytes = Buffer.from(packed, 'base64')
  return new Set(
    Array.from({ length: Math.floor(bytes.length / BYTES) }, (_, index) =>
      String(bytes.readUIntBE(index * BYTES, BYTES)).padStart(12, '0'),
    ),
  )
}
