/**
 * Returns the URL of a cluster's console page. Returns undefined if the cluster's reported address is not an HTTP
 * URL.
 */
export function consolePageUrl(apiAddress: string): string | undefined {
  if (!URL.canParse(apiAddress)) return undefined
  const url = new URL(apiAddress)
  return ['https:', 'http:'].includes(url.protocol) ? `${url.origin}/ui/` : undefined
}

/**
 * Returns the page to link for a cluster. Returns undefined for any cluster other than the configured peer, because
 * other members choose the address that they report, and an operator who follows such a link might sign in there.
 * @param peer origin of the configured peer; empty: no peer
 */
export const linkedPageUrl = (apiAddress: string, peer: string): string | undefined => {
  const page = consolePageUrl(apiAddress)
  return page === consolePageUrl(peer) ? page : undefined
}

/** Returns the API's base URL at an origin, with a trailing slash. */
export const apiBaseUrl = (origin: string): string => `${origin.replace(/\/$/, '')}/v1/`
