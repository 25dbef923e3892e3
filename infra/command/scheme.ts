/**
 * Recognises from a connection error that the address has the wrong scheme.
 * @returns the scheme to use; undefined: the scheme is not the cause
 */
export function findUrlSchemeFault(
  url: URL,
  { code = '', message }: NodeJS.ErrnoException,
): string | undefined {
  const { protocol, host } = url
  // OpenSSL misreads the first bytes of an HTTP answer as the version or length of a TLS record
  if (protocol === 'https:' && /wrong version number|packet length too long/i.test(message))
    return `the server speaks HTTP; use http://${host}`
  if (protocol === 'http:' && code.startsWith('HPE_'))
    return `the server does not speak HTTP; try https://${host}`
  if (protocol === 'http:' && code === 'ECONNRESET')
    return `the server closed the connection without an answer; try https://${host}`
  return undefined
}
