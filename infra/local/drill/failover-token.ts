import type { Host } from '../host.ts'

const DR = 'sys/replication/dr'

/** What whoever takes over has to be allowed. */
const POLICY = [
  ...['secondary/promote', 'secondary/update-primary', 'secondary/generate-public-key'].map(
    path => `path "${DR}/${path}" { capabilities = ["update"] }`,
  ),
  `path "${DR}/primary/revoke-secondary" { capabilities = ["update"] }`,
  `path "${DR}/primary/secondary-token" { capabilities = ["update", "sudo"] }`,
  `path "${DR}/divergence" { capabilities = ["read", "sudo"] }`,
].join('\n')

/** A batch token for an operator's shift: it works on every cluster of the set, whichever is the primary. */
export async function failoverToken(primary: Pick<Host, 'base_url' | 'root_token'>): Promise<string> {
  await write(primary, 'sys/policies/acl/failover', { policy: POLICY })
  await write(primary, 'auth/token/roles/failover', {
    allowed_policies: 'failover',
    orphan: true,
    renewable: false,
    token_type: 'batch',
    token_no_default_policy: true,
  })
  const { auth } = await write(primary, 'auth/token/create/failover', { ttl: '8h' })
  if (!auth) throw new Error('no token was made')
  return auth.client_token
}

async function write(
  { base_url, root_token }: Pick<Host, 'base_url' | 'root_token'>,
  path: string,
  body: object,
): Promise<{ auth?: { client_token: string } }> {
  const answer = await fetch(`${base_url}/${path}`, {
    method: 'POST',
    headers: { 'x-vault-token': root_token },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return text === '' ? {} : (JSON.parse(text) as { auth?: { client_token: string } })
}
