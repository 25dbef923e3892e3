import type { LocalHost } from '../../host/host.ts'
import { requestHost } from '../../pair/dr-client.ts'

const DR = 'sys/replication/dr'

/** The policy of an operator who performs a switch. */
const POLICY = [
  ...[
    'secondary/promote',
    'secondary/update-primary',
    'secondary/generate-public-key',
    'secondary/readiness',
  ].map(path => `path "${DR}/${path}" { capabilities = ["update"] }`),
  `path "${DR}/primary/revoke-secondary" { capabilities = ["update"] }`,
  `path "${DR}/primary/secondary-token" { capabilities = ["update", "sudo"] }`,
  `path "${DR}/readiness" { capabilities = ["read", "sudo"] }`,
  `path "${DR}/divergence" { capabilities = ["read", "sudo"] }`,
].join('\n')

/**
 * Creates a batch token for an operator's shift. The token is valid on every cluster of the set, whichever
 * cluster is the primary.
 */
export async function createFailoverToken(
  primary: Pick<LocalHost, 'base_url' | 'root_token' | 'cluster'>,
): Promise<string> {
  await requestHost(primary, 'sys/policies/acl/failover', { policy: POLICY })
  await requestHost(primary, 'auth/token/roles/failover', {
    allowed_policies: 'failover',
    orphan: true,
    renewable: false,
    token_type: 'batch',
    token_no_default_policy: true,
  })
  const { auth } = await requestHost(primary, 'auth/token/create/failover', { ttl: '8h' })
  if (!auth) throw new Error('the answer has no token')
  return auth.client_token
}
