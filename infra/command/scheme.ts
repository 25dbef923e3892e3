/**
 * Tells from the end of a connection that the address has the wrong scheme.
 * @returns what to write instead; undefined: the scheme is not at fault
 */
export function schemeFault(url: URL, { code = '', message }: NodeJS.ErrnoException): string | undefined {
  const { protocol, host } = url
  // OpenSSL reads the first bytes of an HTTP answer as the version, or the length, of a TLS record
  if (protocol === 'https:' && /wrong version number|packet length too long/i.test(message))
    return `the server speaks http: write http://${host}`
  if (protocol === 'http:' && code.startsWith('HPE_'))
    return `the server speaks no http: write https://${host} if it speaks that`
  if (protocol === 'http:' && code === 'ECONNRESET')
    return `the server ended the connection without an answer: write https://${host} if it speaks that`
  return undefined
}
