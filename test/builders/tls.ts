import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { certificatePem, rsaSha256 } from '../../infra/local/provider/documents/certificate.ts'
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
} from '../../infra/local/provider/documents/der.ts'

const name = (text: string): Buffer => sequence(setOf(sequence(derOid('2.5.4.3'), printable(text))))
/** 127.0.0.1 and localhost, as names of a certificate have them. */
const here = sequence(
  Buffer.of(0x87, 4, 127, 0, 0, 1),
  Buffer.concat([Buffer.of(0x82, 9), Buffer.from('localhost')]),
)

function certificate(subject: string, publicKey: KeyObject, signer: KeyObject): Buffer {
  const extensions = tagged(
    3,
    sequence(
      sequence(derOid('2.5.29.19'), yes(), derOctets(sequence(yes()))),
      sequence(derOid('2.5.29.17'), derOctets(here)),
    ),
  )
  const content = sequence(
    ...[tagged(0, integer(2n)), integer(1n), rsaSha256.algorithm, name(subject)],
    ...[sequence(time(Date.UTC(2020, 0, 1)), time(Date.UTC(2049, 0, 1))), name(subject)],
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  return sequence(content, rsaSha256.algorithm, bits(sign('sha256', content, signer)))
}

/** A server on this machine by TLS: its key, and a certificate that vouches for itself. */
export function tlsOf(subject: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: certificatePem(certificate(subject, publicKey, privateKey)),
  }
}
