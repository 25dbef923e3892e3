import { HOME, type launch, pkcs7Of, satellite } from '../../support/requests/logins.ts'
import { api, aws, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

interface Check {
  check: string
  verdict: string
  message?: string
  seen?: unknown
  wanted?: unknown
}

/**
 * Creates a mount with a satellite account and a user there, to compare logins with their
 * explanations.
 */
export async function explained() {
  const { path: mount } = await freshMount()
  const account = await satellite(mount)
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await aws.putUser({ account, name: 'bob' })
  const bob = await aws.createAccessKey({ account, user: 'bob' })
  const roleWith = async (values: object) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, values)
    return role
  }
  return {
    mount,
    account,
    bob,
    roleWith,
    ec2Role: (values: object = {}) =>
      roleWith({ auth_type: 'ec2', bound_account_id: `${HOME.account},${account}`, ...values }),
    iamRole: (values: object = {}) =>
      roleWith({ bound_iam_principal_arn: `arn:aws:iam::${account}:user/bob`, ...values }),
    explain: async (role: string, body: object) =>
      (await done('POST', `${mount}/role/${role}/explain`, body)).body.data as {
        login_would_succeed: boolean
        checks: Check[]
        token: Record<string, unknown> | null
        auth_type?: string
        signatures?: { documents: string; accepted: boolean; works_on_this_runtime: boolean }[]
      },
    login: (role: string, body: object) => api('POST', `${mount}/login`, { ...body, role }, { token: '' }),
  }
}

/** Returns the fields of an ec2 login. */
export const of = async (instance: Awaited<ReturnType<typeof launch>>) => ({ pkcs7: await pkcs7Of(instance) })

export const fails = (checks: readonly Check[]) => checks.filter(one => one.verdict === 'fail')
