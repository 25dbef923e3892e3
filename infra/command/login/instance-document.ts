import type { CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { type ApiRequestOptions, exchangeApiRequest } from '../exchange.ts'

/** The metadata items of each kind of signed document, as parameters of an ec2 login. */
export const instanceDocumentKinds: Readonly<Record<'rsa2048' | 'pkcs7' | 'identity', readonly Item[]>> = {
  rsa2048: [{ parameter: 'pkcs7', itemName: 'rsa2048', read: withoutBreaks }],
  pkcs7: [{ parameter: 'pkcs7', itemName: 'pkcs7', read: withoutBreaks }],
  identity: [
    { parameter: 'identity', itemName: 'document', read: text => Buffer.from(text).toString('base64') },
    { parameter: 'signature', itemName: 'signature', read: withoutBreaks },
  ],
}

interface Item {
  parameter: string
  itemName: string
  read: (text: string) => string
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/\s/g, '')
}

const METADATA_TIMEOUT_MS = 5000
/** Maximum number of bytes of a metadata item; a document and its signature have about 2 kB. */
const MOST_BYTES = 64 * 1024
const SESSION_SECONDS = '60'

/**
 * Fetches the signed identity document of this instance from its metadata service (IMDSv2).
 * @throws CommandEnded `refused` if a variable disables the metadata service, `unreachable` if the service
 * does not answer
 */
export async function fetchEc2LoginProof(
  kind: keyof typeof instanceDocumentKinds,
  environment: CommandEnvironment,
): Promise<Record<string, string>> {
  const service = metadataServiceUrl(environment)
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_SECONDS }
  const session = await item(`${service}/latest/api/token`, { method: 'PUT', headers: ttl })
  const headers = { 'x-aws-ec2-metadata-token': session }
  const proof: Record<string, string> = {}
  for (const { parameter, itemName, read } of instanceDocumentKinds[kind])
    proof[parameter] = read(
      await item(`${service}/latest/dynamic/instance-identity/${itemName}`, { headers }),
    )
  return proof
}

/** Returns the URL of the metadata service, from the variables of the SDKs. @throws CommandEnded `refused` */
export function metadataServiceUrl(environment: CommandEnvironment): string {
  const given = (name: string) => environment[`AWS_EC2_METADATA_${name}`] || undefined
  if (/^true$/i.test(given('DISABLED') ?? ''))
    throw new CommandEnded(
      'refused',
      'AWS_EC2_METADATA_DISABLED=true disables the metadata service, which an ec2 login needs',
    )
  const isSix = /^ipv6$/i.test(given('SERVICE_ENDPOINT_MODE') ?? '')
  const usual = isSix ? 'http://[fd00:ec2::254]' : 'http://169.254.169.254'
  return (given('SERVICE_ENDPOINT') ?? usual).replace(/\/+$/, '')
}

/** Fetches one item from the metadata service. @param asking method and IMDSv2 headers */
async function item(url: string, asking: Pick<ApiRequestOptions, 'method' | 'headers'>): Promise<string> {
  if (!URL.canParse(url))
    throw new CommandEnded('usage', `AWS_EC2_METADATA_SERVICE_ENDPOINT must be a URL, not ${url}`)
  const asked = new URL(url)
  const { status, text } = await exchangeApiRequest(
    asked,
    asking,
    { timeoutMs: METADATA_TIMEOUT_MS },
    MOST_BYTES,
  ).catch(error => {
    if (!(error instanceof CommandEnded)) throw error
    throw new CommandEnded(
      'unreachable',
      `the metadata service at ${asked.origin} does not answer. Is this an EC2 instance? ${error.message}`,
    )
  })
  if (status !== 200)
    throw new CommandEnded('refused', `the metadata service answered ${status} for ${asked.pathname}`)
  return text
}
