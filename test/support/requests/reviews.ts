import { aws, done, freshMount, localCertificate } from '../service/cluster.ts'
import { HOME, satellite } from './logins.ts'

export interface Finding {
  rule: string
  severity: string
  subject: string
  text: string
  fix: string
}

export interface Review {
  findings: Finding[]
  rules: { rule: string; severity: string; verdict: string; findings: number; why?: string }[]
}

/** Principal of the clean roles. */
export const APP = `arn:aws:iam::${HOME.account}:role/reviewed`

const short = { token_policies: 'dev', token_max_ttl: '1h' }

/** Bodies of roles without a weakness, by their type. */
export const cleanRoles = {
  iam: { bound_iam_principal_arn: APP, ...short },
  ec2: { auth_type: 'ec2', bound_vpc_id: 'vpc-1', disallow_reauthentication: true, ...short },
  jwt: { auth_type: 'jwt', bound_iam_principal_arn: APP, ...short },
}

export const jwtConfig = { bound_audiences: 'https://cloud-auth.example' }

/** Creates a mount in which a review finds nothing: a role of each type, a satellite account and a certificate. */
export async function cleanMount(): Promise<{ path: string; accessor: string }> {
  const { path, accessor } = await freshMount()
  await aws.putRole({ account: HOME.account, name: 'reviewed' })
  await done('POST', `${path}/config/client`, { iam_server_id_header_value: 'vault.example' })
  await done('POST', `${path}/config/jwt`, jwtConfig)
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await satellite(path, 'external')
  for (const [name, body] of Object.entries(cleanRoles)) await done('POST', `${path}/role/${name}`, body)
  return { path, accessor }
}

export const reviewOf = async (mount: string, query = '?ask_aws=true'): Promise<Review> =>
  (await done('GET', `${mount}/review${query}`)).body.data

/** Judges a role before it is stored. */
export const reviewOfRole = async (mount: string, body: object): Promise<Review> =>
  (await done('POST', `${mount}/review`, { ask_aws: true, ...body })).body.data

/** Returns the verdicts of rules as text, each with its reason. */
export const verdictsOf = ({ rules }: Review): Record<string, string> =>
  Object.fromEntries(rules.map(({ rule, verdict, why }) => [rule, why ? `${verdict}: ${why}` : verdict]))
