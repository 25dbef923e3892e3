/**
 * Recognises from a connection error that the address has the wrong scheme.
 * @returns the scheme to use; undefined: the scheme is not the cause
 */
function findUrlSchemeFault(url: URL, { code = '', message }: NodeJS.ErrnoException): string | undefined {
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

/** Cures of connection errors, by the code of the error. */
const connectionCures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there. Check the address',
  ENOTFOUND: 'the host name does not exist. Check the address',
  EAI_AGAIN: 'the name server does not answer. Check the network',
  ETIMEDOUT: 'check the network and the address',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired. Its operator must renew it',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate has another name. Check the address, or set VAULT_TLS_SERVER_NAME',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'name the certificate of the server’s CA in VAULT_CACERT',
  SELF_SIGNED_CERT_IN_CHAIN: 'name the certificate of the server’s CA in VAULT_CACERT',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'name the certificate of the server’s CA in VAULT_CACERT',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'name the certificate of the server’s CA in VAULT_CACERT',
}

/** Returns what to do about a connection error; undefined: only the error itself is known. */
export const findConnectionCure = (url: URL, error: NodeJS.ErrnoException): string | undefined =>
  findUrlSchemeFault(url, error) ?? connectionCures[error.code ?? '']
