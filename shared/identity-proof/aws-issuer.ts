/** The domains below which AWS publishes the keys of issuers, by partition. Other partitions are not known yet. */
const suffixes = {
  aws: '.tokens.sts.global.api.aws',
  'aws-cn': '.tokens.sts.global.api.amazonwebservices.com.cn',
} as const

export type IssuerPartition = keyof typeof suffixes

export const issuerPartitions = Object.keys(suffixes) as IssuerPartition[]

/** An issuer of AWS-signed tokens. Each account has one. */
export interface AwsIssuer {
  /** UUID in lower case */
  id: string
  partition: IssuerPartition
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SCHEME = 'https://'
const UUID_LENGTH = 36

/** Reports whether a text is the ID of an issuer. */
export const isIssuerId = (text: string): boolean => UUID.test(text)

/**
 * Parses the claim `iss`. Only the exact text is accepted, because the host of the keys follows from it.
 * @see docs/spec/login-jwt.md#token
 */
export function parseAwsIssuer(iss: string): AwsIssuer | undefined {
  if (!iss.startsWith(SCHEME)) return undefined
  const host = iss.slice(SCHEME.length)
  const [id, suffix] = [host.slice(0, UUID_LENGTH), host.slice(UUID_LENGTH)]
  const partition = issuerPartitions.find(name => suffixes[name] === suffix)
  return partition && isIssuerId(id) ? { id, partition } : undefined
}

/** Returns the host that publishes the keys of an issuer. */
export const issuerHost = ({ id, partition }: AwsIssuer): string => `${id}${suffixes[partition]}`

/** Returns the claim `iss` of an issuer's tokens. */
export const issuerUrl = (issuer: AwsIssuer): string => SCHEME + issuerHost(issuer)
