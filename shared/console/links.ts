/** The page of a cluster by the address that others tell of it; undefined where that is no address of the web. */
export function pageAt(apiAddress: string): string | undefined {
  if (!URL.canParse(apiAddress)) return undefined
  const url = new URL(apiAddress)
  return ['https:', 'http:'].includes(url.protocol) ? `${url.origin}/ui/` : undefined
}

/**
 * Returns the page to link for a cluster; undefined for a cluster other than the configured peer. Other members choose
 * the address that they report, and an operator who follows a link there might sign in.
 * @param peer origin of the configured peer; empty: none
 */
export const linkedPage = (apiAddress: string, peer: string): string | undefined => {
  const page = pageAt(apiAddress)
  return page === pageAt(peer) ? page : undefined
}

/** Where the API of an address is, with the slash that paths are put behind. */
export const apiAt = (origin: string): string => `${origin.replace(/\/$/, '')}/v1/`
