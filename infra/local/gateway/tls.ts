import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { certificatePem, rsaSha256 } from '../provider/documents/certificate.ts'
import {
  bits,
  derOctets,
  derOid,
  integer,
  printable,
  sequence,
  setOf,
  tagged,
  time,
  yes,
} from '../provider/documents/der.ts'

/** What a server needs to speak TLS, PEM. */
export interface TlsSecrets {
  key: string
  cert: string
}

/** Vouches for servers, as an organisation does for its own. */
export interface LocalAuthority {
  /** its own certificate, PEM */
  cert: string
  /** @param names of hosts, instead of this machine's loopback */
  issue(subject: string, names?: readonly string[]): TlsSecrets
}

/** A server on this machine by TLS: its key, and a certificate that vouches for itself. */
export function tlsOf(subject: string): TlsSecrets {
  const keys = newKeys()
  return secretsOf(keys, certificate(keys.publicKey, { subject, issuer: subject, names: here }, keys))
}

export function newAuthority(issuer: string): LocalAuthority {
  const own = newKeys()
  return {
    cert: certificatePem(certificate(own.publicKey, { subject: issuer, issuer }, own)),
    issue: (subject, names) => {
      const keys = newKeys()
      const known = names ? sequence(...names.map(dnsName)) : here
      return secretsOf(keys, certificate(keys.publicKey, { subject, issuer, names: known }, own))
    },
  }
}

type Keys = ReturnType<typeof newKeys>

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 })

const secretsOf = ({ privateKey }: Keys, cert: Buffer): TlsSecrets => ({
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  cert: certificatePem(cert),
})

const named = (text: string): Buffer => sequence(setOf(sequence(derOid('2.5.4.3'), printable(text))))
const dnsName = (text: string): Buffer =>
  Buffer.concat([Buffer.of(0x82, text.length), Buffer.from(text, 'ascii')])
/** 127.0.0.1 and localhost, as names of a certificate have them. */
const here = sequence(Buffer.of(0x87, 4, 127, 0, 0, 1), dnsName('localhost'))

interface About {
  subject: string
  issuer: string
  /** absent: it is no server's */
  names?: Buffer
}

/** An X.509 v3 certificate for the next decades; every one may vouch for others. */
function certificate(publicKey: KeyObject, { subject, issuer, names }: About, by: Keys): Buffer {
  const extensions = tagged(
    3,
    sequence(
      sequence(derOid('2.5.29.19'), yes(), derOctets(sequence(yes()))),
      ...(names ? [sequence(derOid('2.5.29.17'), derOctets(names))] : []),
    ),
  )
  const serial = subject === issuer ? 1n : 2n
  const content = sequence(
    tagged(0, integer(2n)),
    integer(serial),
    rsaSha256.algorithm,
    named(issuer),
    sequence(time(Date.UTC(2020, 0, 1)), time(Date.UTC(2049, 0, 1))),
    named(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  return sequence(content, rsaSha256.algorithm, bits(sign('sha256', content, by.privateKey)))
}
