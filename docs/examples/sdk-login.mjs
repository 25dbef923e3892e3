// Functions for a program that logs in to cloud-auth with its AWS credentials. Needs @aws-sdk/client-sts.
import { GetCallerIdentityCommand, GetWebIdentityTokenCommand, STSClient } from '@aws-sdk/client-sts'

const { AUDIENCE, BASE, ROLE, MOUNT = 'cloud' } = process.env

/** Sends a request, and returns the `auth` of the answer. */
export async function post(path, body, token) {
  const answer = await fetch(`${BASE}/${path}`, {
    method: 'POST',
    headers: token ? { 'x-vault-token': token } : {},
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  })
  const { auth, errors } = await answer.json()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${errors.join('; ')}`)
  return auth
}

/** Signs a request for STS, and sends the signed request to cloud-auth. */
export async function logIn() {
  const sts = new STSClient({ region: 'us-east-1', endpoint: 'https://sts.amazonaws.com' })
  // returns the signed request in place of the answer of STS
  const intercept =
    () =>
    async ({ request }) => ({ response: {}, output: { request, $metadata: {} } })
  sts.middlewareStack.add(intercept, { step: 'finalizeRequest', priority: 'low' })
  const { request } = await sts.send(new GetCallerIdentityCommand())
  const encode = text => Buffer.from(text).toString('base64')
  return post(`auth/${MOUNT}/login`, {
    role: ROLE,
    iam_http_request_method: request.method,
    iam_request_url: encode('https://sts.amazonaws.com/'),
    iam_request_body: encode(request.body),
    iam_request_headers: encode(JSON.stringify(request.headers)),
  })
}

/** Asks AWS for a token about this process, and sends the token to cloud-auth. */
export async function logInByToken() {
  // each login needs a new token, because a token logs in once
  const { WebIdentityToken: jwt } = await new STSClient().send(
    new GetWebIdentityTokenCommand({ Audience: [AUDIENCE], SigningAlgorithm: 'RS256', DurationSeconds: 300 }),
  )
  return post(`auth/${MOUNT}/login`, { role: ROLE, jwt })
}

/** Renews a token. */
export const renew = token => post('auth/token/renew-self', {}, token)
