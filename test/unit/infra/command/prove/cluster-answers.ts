/** Answers as a cluster that has everything that the probes look for. @returns status and body */
export const answerAsCluster = (path: string, method: string): [number, object] => {
  if (method === 'LIST') return [405, {}]
  if (path.includes('%25')) return [404, { errors: [] }]
  if (path.endsWith('/explain'))
    return [200, { data: { signatures: [{ documents: 'rsa2048', works_on_this_runtime: true }] } }]
  if (path.endsWith('token/create')) return [200, { auth: { client_token: 'a-batch-token' } }]
  return [200, { request_id: '0-1-2', data: {} }]
}
