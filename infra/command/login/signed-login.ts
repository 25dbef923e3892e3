import { createHash, createHmac } from 'node:crypto'
import { defined } from '../../../shared/values/defined.ts'

/** Temporary or long-lived credentials of a workload. */
export interface WorkloadCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

const BODY = 'Action=GetCallerIdentity&Version=2011-06-15'

/**
 * Creates the parameters of an iam login: a GetCallerIdentity request, signed with Signature Version 4 and
 * never sent.
 * @param serverId value of the header that binds the request to one server
 * @param serverIdHeader name of the header with the server's ID; servers accept one of two names, or both
 */
export function signLogin(
  credentials: WorkloadCredentials,
  {
    region = 'us-east-1',
    host = 'sts.amazonaws.com',
    serverId,
    serverIdHeader = 'X-Service-Cloud-IAM-Server-ID',
  }: { region?: string; host?: string; serverId?: string | undefined; serverIdHeader?: string } = {},
): Record<string, string> {
  const now = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const named: Record<string, string> = defined({
    'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
    Host: host,
    'X-Amz-Date': now,
    'X-Amz-Security-Token': credentials.sessionToken || undefined,
  })
  const headers = serverId ? { ...named, [serverIdHeader]: serverId } : named
  const names = Object.keys(headers)
    .map(name => name.toLowerCase())
    .sort()
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const canonical = [
    'POST',
    '/',
    '',
    ...names.map(name => `${name}:${values.get(name)}`),
    '',
    names.join(';'),
    sha256(BODY),
  ].join('\n')
  const scope = `${now.slice(0, 8)}/${region}/sts/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', now, scope, sha256(canonical)].join('\n')
  const key = [now.slice(0, 8), region, 'sts', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  )
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return {
    iam_http_request_method: 'POST',
    iam_request_url: base64(`https://${host}/`),
    iam_request_body: base64(BODY),
    iam_request_headers: base64(JSON.stringify({ ...headers, Authorization: authorization })),
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
