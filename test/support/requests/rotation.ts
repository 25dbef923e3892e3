import { IAMClient, UpdateAccessKeyCommand } from '@aws-sdk/client-iam'
import { expect } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import type { Reply } from '../service/api.ts'
import { api, aws, cluster, done, fresh, freshAccount, freshMount } from '../service/cluster.ts'
import { tableStore } from '../tables/store.ts'

/** A mount that calls AWS with the only access key of an IAM user. */
export interface Rotating {
  path: string
  accessor: string
  account: string
  user: string
  first: string
}

export async function rotating(): Promise<Rotating> {
  const { path, accessor } = await freshMount()
  const [account, user] = [freshAccount(), 'cloud-auth']
  await aws.putUser({ account, name: user })
  const { accessKeyId, secretAccessKey } = await aws.createAccessKey({ account, user })
  await done('POST', `${path}/config/client`, { access_key: accessKeyId, secret_key: secretAccessKey })
  return { path, accessor, account, user, first: accessKeyId }
}

export const rotate = ({ path }: Rotating): Promise<Reply> => api('POST', `${path}/config/rotate-root`)

/** Returns the access keys of the IAM user from AWS. */
export const keysOf = async ({ account, user }: Rotating): Promise<string[]> =>
  (await aws.putUser({ account, name: user })).accessKeyIds

/** Returns the configured access key of the mount. */
export const configured = async ({ path }: Rotating): Promise<string> =>
  (await done('GET', `${path}/config/client`)).body.data.access_key

/** Checks that the configured access key exists and that calls to AWS succeed. */
export async function isServed(one: Rotating, where = ''): Promise<void> {
  expect(await keysOf(one), where).toContain(await configured(one))
  const bound_iam_principal_arn = `arn:aws:iam::${one.account}:user/${one.user}`
  const reply = await api('POST', `${one.path}/role/${fresh('r')}`, { bound_iam_principal_arn })
  expect(reply.status, `${where} ${reply.text}`).toBe(204)
}

/** Expires the guard that a crash during a rotation left, as if its time had passed. */
export async function guardEnds({ accessor }: Rotating): Promise<void> {
  const { store, commit } = tableStore(cluster)
  const place = key('rotation', accessor)
  const [guard] = await store.read([place])
  if (guard)
    await commit({
      kind: 'put',
      key: place,
      data: { ...guard.data, leaseUntil: 0 },
      expected: 'any',
      times: {},
    })
}

/** Sets whether AWS accepts an access key. */
export async function setStatus(
  { account, user }: Rotating,
  accessKey: string,
  Status: 'Active' | 'Inactive',
): Promise<void> {
  const iam = new IAMClient({
    endpoint: cluster.provider_url,
    region: 'us-east-1',
    credentials: await aws.rootKey({ account }),
  })
  await iam.send(new UpdateAccessKeyCommand({ UserName: user, AccessKeyId: accessKey, Status }))
  iam.destroy()
}
