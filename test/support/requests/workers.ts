import type { ResponseAuth } from '../../../shared/api/call.ts'
import type { Reply } from '../service/api.ts'
import { aws, done, fresh, freshAccount } from '../service/cluster.ts'
import { loginWith, signedBy } from './logins.ts'

/** An IAM user that may log in to its own role. */
export interface Worker {
  account: string
  /** of the user */
  arn: string
  /** name of the role on the mount */
  role: string
  /** returns the parameters of a login, signed now */
  signed(): Record<string, unknown>
  /** sends a login that may fail */
  tryLogin(more?: Record<string, unknown>): Promise<Reply>
  /** sends a login that must succeed */
  login(more?: Record<string, unknown>): Promise<ResponseAuth>
  /** changes the role */
  change(given: Record<string, unknown>): Promise<void>
}

/** Makes an IAM user and a role that is bound to the user by name, so that logins need no call to IAM. */
export async function workerOn(mount: string, given: Record<string, unknown> = {}): Promise<Worker> {
  const account = freshAccount()
  const { arn } = await aws.putUser({ account, name: 'worker' })
  const keys = await aws.createAccessKey({ account, user: 'worker' })
  const role = fresh('role')
  const change = async (fields: Record<string, unknown>) => {
    await done('POST', `${mount}/role/${role}`, fields)
  }
  await change({ bound_iam_principal_arn: arn, resolve_aws_unique_ids: false, ...given })
  const tryLogin = (more: Record<string, unknown> = {}) => loginWith(mount, keys, { role, ...more })
  const login = async (more: Record<string, unknown> = {}) => {
    const reply = await tryLogin(more)
    if (reply.status !== 200) throw new Error(`login: ${reply.status} ${reply.text}`)
    return reply.body.auth as ResponseAuth
  }
  return { account, arn, role, signed: () => ({ ...signedBy(keys), role }), tryLogin, login, change }
}
