import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { encodeCertificate, rsaSha256, toCertificatePem } from '../provider/documents/certificate.ts'
import { derOctets, derOid, derPrintableString, derSequence, derSet } from '../provider/documents/der.ts'

/** Key and certificate of a TLS server, PEM. */
export interface TlsSecrets {
  key: string
  cert: string
}

/** A CA that signs server certificates, as an organisation's own CA does. */
export interface LocalAuthority {
  /** the CA's own certificate, PEM */
  cert: string
  /** @param names host names; default: this machine's loopback names */
  issue(subject: string, names?: readonly string[]): TlsSecrets
}

/** Creates a key and a self-signed certificate for a server on this machine. */
export function createServerTls(subject: string): TlsSecrets {
  const keys = newKeys()
  return secretsOf(keys, issued(keys.publicKey, { subject, issuer: subject, names: here }, keys))
}

export function createLocalAuthority(issuer: string): LocalAuthority {
  const own = newKeys()
  return {
    cert: toCertificatePem(issued(own.publicKey, { subject: issuer, issuer }, own)),
    issue: (subject, names) => {
      const keys = newKeys()
      const known = names ? derSequence(...names.map(dnsName)) : here
      return secretsOf(keys, issued(keys.publicKey, { subject, issuer, names: known }, own))
    },
  }
}

type Keys = ReturnType<typeof newKeys>

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 })

const secretsOf = ({ privateKey }: Keys, cert: Buffer): TlsSecrets => ({
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  cert: toCertificatePem(cert),
})

const named = (text: string): Buffer =>
  derSequence(derSet(derSequence(derOid('2.5.4.3'), derPrintableString(text))))
const dnsName = (text: string): Buffer =>
  Buffer.concat([Buffer.of(0x82, text.length), Buffer.from(text, 'ascii')])
/** 127.0.0.1 and localhost as subject alternative names. */
const here = derSequence(Buffer.of(0x87, 4, 127, 0, 0, 1), dnsName('localhost'))

interface About {
  subject: string
  issuer: string
  /** subject alternative names; absent: not a server certificate */
  names?: Buffer
}

/** Issues a certificate that is valid for decades. */
const issued = (publicKey: KeyObject, { subject, issuer, names }: About, by: Keys): Buffer =>
  encodeCertificate(
    {
      publicKey,
      subject: named(subject),
      issuer: named(issuer),
      serial: subject === issuer ? 1n : 2n,
      validity: [Date.UTC(2020, 0, 1), Date.UTC(2049, 0, 1)],
      extensions: names ? [derSequence(derOid('2.5.29.17'), derOctets(names))] : [],
    },
    by.privateKey,
    rsaSha256,
  )
