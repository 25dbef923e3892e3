/** The page of a cluster by the address that others tell of it; undefined where that is no address of the web. */
export function pageAt(apiAddress: string): string | undefined {
  if (!URL.canParse(apiAddress)) return undefined
  const url = new URL(apiAddress)
  return ['https:', 'http:'].includes(url.protocol) ? `${url.origin}/ui/` : undefined
}

/** Where the API of an address is, with the slash that paths are put behind. */
export const apiAt = (origin: string): string => `${origin.replace(/\/$/, '')}/v1/`
