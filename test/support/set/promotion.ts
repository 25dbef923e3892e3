import type { Reply } from '../service/api.ts'
import { OPERATION_TOKEN, storeOperationToken } from './operation-token.ts'
import type { ClusterSet } from './set.ts'

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }

/** The actions of promotion tests on the clusters of a set. */
export const promotions = (set: ClusterSet) => ({
  write: (cluster: string, name: string): Promise<Reply> =>
    set.at(cluster).request('POST', `/sys/policies/acl/${name}`, POLICY),
  policies: async (cluster: string): Promise<string[]> =>
    (await set.at(cluster).ok('LIST', '/sys/policies/acl')).body.data.keys,
  giveToken: (cluster: string): Promise<void> => storeOperationToken(set.at(cluster)),
  /** makes a cluster follow a primary, under another admission */
  follow: async (cluster: string, primary: string, id = `${cluster}-again`): Promise<void> => {
    await storeOperationToken(set.at(cluster))
    const { body } = await set.at(primary).ok('POST', '/sys/replication/dr/primary/secondary-token', { id })
    const given = { dr_operation_token: OPERATION_TOKEN, token: body.wrap_info.token }
    await set.at(cluster).ok('POST', '/sys/replication/dr/secondary/update-primary', given)
  },
  promote: (cluster: string, more: object = {}): Promise<Reply> =>
    set.at(cluster).request('POST', '/sys/replication/dr/secondary/promote', {
      dr_operation_token: OPERATION_TOKEN,
      ...more,
    }),
  health: async (cluster: string): Promise<number> =>
    (await set.at(cluster).request('GET', '/sys/health')).status,
})

/** Makes a primary and its secondary, which has an operation token. */
export async function readyToPromote(set: ClusterSet): Promise<ReturnType<typeof promotions>> {
  const doing = promotions(set)
  await set.enable('east')
  await set.join('west', 'east')
  await doing.write('east', 'before')
  await set.converge()
  await doing.giveToken('west')
  return doing
}

/**
 * Lets a thief promote the stolen cluster by force, so that it fences the honest cluster for three minutes.
 */
export async function fenceByThief(set: ClusterSet, stolen: string): Promise<void> {
  const doing = promotions(set)
  set.recording.allowTwo(stolen)
  await doing.giveToken(stolen)
  const { status, text } = await doing.promote(stolen, { force: true })
  if (status !== 200) throw new Error(`the stolen cluster was not promoted: ${status} ${text}`)
  for (let minutes = 0; minutes < 3; minutes++) {
    await set.settled()
    set.pass(60_000)
    await set.tick()
  }
  await set.settled()
}
