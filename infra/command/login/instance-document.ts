import type { CommandEnvironment } from '../connection.ts'
import { Ended } from '../ended.ts'
import { type Asking, exchange } from '../exchange.ts'

/** What the metadata service signs, as parameters of an ec2 login. */
export const documentKinds: Readonly<Record<'rsa2048' | 'pkcs7' | 'identity', readonly Item[]>> = {
  rsa2048: [{ parameter: 'pkcs7', item: 'rsa2048', read: withoutBreaks }],
  pkcs7: [{ parameter: 'pkcs7', item: 'pkcs7', read: withoutBreaks }],
  identity: [
    { parameter: 'identity', item: 'document', read: text => Buffer.from(text).toString('base64') },
    { parameter: 'signature', item: 'signature', read: withoutBreaks },
  ],
}

interface Item {
  parameter: string
  item: string
  read: (text: string) => string
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/\s/g, '')
}

const METADATA_TIMEOUT_MS = 5000
/** a document and its signature have some 2 kB */
const MOST_BYTES = 64 * 1024
const SESSION_SECONDS = '60'

/**
 * The signed document of the instance that this runs on, from its metadata service (IMDSv2).
 * @throws Ended `refused` where the variables forbid it, `unreachable` where nobody answers
 */
export async function documentProof(
  kind: keyof typeof documentKinds,
  environment: CommandEnvironment,
): Promise<Record<string, string>> {
  const service = metadataService(environment)
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_SECONDS }
  const session = await item(`${service}/latest/api/token`, { method: 'PUT', headers: ttl })
  const headers = { 'x-aws-ec2-metadata-token': session }
  const proof: Record<string, string> = {}
  for (const { parameter, item: name, read } of documentKinds[kind])
    proof[parameter] = read(await item(`${service}/latest/dynamic/instance-identity/${name}`, { headers }))
  return proof
}

/** Where the metadata service is, by the variables of the SDKs. @throws Ended `refused` */
export function metadataService(environment: CommandEnvironment): string {
  const given = (name: string) => environment[`AWS_EC2_METADATA_${name}`] || undefined
  if (/^true$/i.test(given('DISABLED') ?? ''))
    throw new Ended('refused', 'AWS_EC2_METADATA_DISABLED forbids to ask the metadata service')
  const isSix = /^ipv6$/i.test(given('SERVICE_ENDPOINT_MODE') ?? '')
  const usual = isSix ? 'http://[fd00:ec2::254]' : 'http://169.254.169.254'
  return (given('SERVICE_ENDPOINT') ?? usual).replace(/\/+$/, '')
}

/** @param headers of IMDSv2 */
async function item(url: string, asking: Pick<Asking, 'method' | 'headers'>): Promise<string> {
  if (!URL.canParse(url))
    throw new Ended('usage', `AWS_EC2_METADATA_SERVICE_ENDPOINT must be a URL: ${url} is none`)
  const asked = new URL(url)
  const { status, text } = await exchange(
    asked,
    asking,
    { timeoutMs: METADATA_TIMEOUT_MS },
    MOST_BYTES,
  ).catch(error => {
    if (!(error instanceof Ended)) throw error
    throw new Ended(
      'unreachable',
      `the metadata service does not answer at ${asked.origin}: is this an EC2 instance? ${error.message}`,
    )
  })
  if (status !== 200)
    throw new Ended('refused', `the metadata service answers ${status} for ${asked.pathname}`)
  return text
}
