import { type WhenDone, webServer } from '../service/server.ts'

/** A cluster of a test's own: it answers health, logins, lookups, renewals and revocations. */
export interface ImitatedCluster {
  url: string
  /** status of sys/health; 0: no request is answered */
  health: number
  /** lifetime that a login gives, in seconds */
  lease: number
  /** lifetime that a renewal gives; 0: the renewal is refused */
  renewal: number
  loginStatus: number
  /** valid tokens; clusters of a set may share them */
  tokens: Set<string>
  /** path and token of each request, in order */
  asked: [path: string, token: string | undefined][]
}

let issued = 0

export async function imitateCluster(whenDone: WhenDone, set?: ImitatedCluster): Promise<ImitatedCluster> {
  const cluster: ImitatedCluster = {
    url: '',
    health: 200,
    lease: 3600,
    renewal: 3600,
    loginStatus: 200,
    tokens: set?.tokens ?? new Set(),
    asked: [],
  }
  const { url } = await webServer(whenDone, ({ url: path = '', headers }, response) => {
    const name = path.replace('/v1/', '')
    const token = headers['x-vault-token'] as string | undefined
    cluster.asked.push([name, token])
    if (cluster.health === 0) return void response.destroy()
    const { status, body = {} } = answerOf(cluster, name, token)
    response.writeHead(status).end(JSON.stringify(body))
  })
  cluster.url = url
  return cluster
}

function answerOf(cluster: ImitatedCluster, name: string, token = ''): { status: number; body?: object } {
  if (name === 'sys/health') return { status: cluster.health }
  if (name.endsWith('/login')) {
    if (cluster.loginStatus !== 200) return { status: cluster.loginStatus, body: { errors: ['refused'] } }
    const fresh = `hvs.token-${++issued}`
    cluster.tokens.add(fresh)
    return { status: 200, body: { auth: grantOf(fresh, cluster.lease) } }
  }
  if (!cluster.tokens.has(token)) return { status: 403, body: { errors: ['permission denied'] } }
  if (name === 'auth/token/lookup-self') return { status: 200, body: { data: {} } }
  if (name === 'auth/token/revoke-self') {
    cluster.tokens.delete(token)
    return { status: 204 }
  }
  return cluster.renewal === 0
    ? { status: 403, body: { errors: ['permission denied'] } }
    : { status: 200, body: { auth: grantOf(token, cluster.renewal) } }
}

const grantOf = (token: string, lease: number) => ({
  client_token: token,
  lease_duration: lease,
  renewable: true,
})
