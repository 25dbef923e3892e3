// Writes rsa2048.json and legacy.json from aws.pem: `npm run certificates`.
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { type CompiledCertificates, readCertificateName } from '../trust.ts'

const here = new URL('.', import.meta.url)
const BLOCK =
  /^# (\S+) (\S+)(?: [^\n]*)?\n(-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----)$/gm

/** Reads every certificate of aws.pem. */
export const readPublishedCertificates = (): { region: string; kind: string; pem: string }[] =>
  [...readFileSync(new URL('aws.pem', here), 'utf8').matchAll(BLOCK)].map(
    ([, region = '', kind = '', pem = '']) => ({
      region,
      kind,
      pem,
    }),
  )

/** Compiles certificates: each issuer and key is stored once, and each certificate lists the regions that publish it. */
export function compileCertificates(kinds: readonly string[]): CompiledCertificates {
  const issuers: string[] = []
  const keys: string[] = []
  const rows = new Map<
    string,
    { kind: string; serial: string; issuer: number; key: number; regions: string[] }
  >()
  for (const { region, kind, pem } of readPublishedCertificates().filter(one => kinds.includes(one.kind))) {
    const certificate = new X509Certificate(pem)
    const { issuer, serial } = readCertificateName(certificate.raw)
    const key = index(keys, certificate.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'))
    const row = { kind, serial, issuer: index(issuers, Buffer.from(issuer, 'hex').toString('base64')), key }
    const id = JSON.stringify(row)
    rows.set(id, { ...row, regions: [...(rows.get(id)?.regions ?? []), region] })
  }
  return { issuers, keys, certificates: [...rows.values()] }
}

function index(list: string[], value: string): number {
  const found = list.indexOf(value)
  return found < 0 ? list.push(value) - 1 : found
}

if (import.meta.main) {
  writeFileSync(
    new URL('rsa2048.json', here),
    `${JSON.stringify(compileCertificates(['rsa2048']), null, 1)}\n`,
  )
  writeFileSync(
    new URL('legacy.json', here),
    `${JSON.stringify(compileCertificates(['dsa', 'rsa']), null, 1)}\n`,
  )
}
