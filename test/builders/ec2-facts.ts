import { defaultIdentityConfig } from '../../shared/auth-method/login/metadata.ts'
import type { CompleteEc2Facts, RoleTagFacts } from '../../shared/auth-method/login-ec2/facts.ts'
import { parseRoleTag, type RoleTag } from '../../shared/auth-method/role-tags/tag.ts'
import { defaultTidySettings } from '../../shared/auth-method/tidy/settings.ts'
import { parseInstanceDocument, type VerifiedProof } from '../../shared/identity-proof/instance-document.ts'
import type { AccessEntry } from '../../shared/model/access-entry.ts'
import type { Instance } from '../../shared/model/instance.ts'
import { type Item, key } from '../../shared/storage/kinds.ts'
import { item } from '../support/tables/items.ts'
import { documentText } from './instance-document.ts'
import { ec2Role } from './roles.ts'

/** Returns an identity document that counts as verified. */
export function documentOf(fields: Record<string, unknown> = {}): VerifiedProof {
  const read = parseInstanceDocument(Buffer.from(documentText(fields)))
  if (!read.ok) throw new Error(read.fault.text)
  return read.value as VerifiedProof
}

/** A running instance that satisfies the roles of the tests. */
export const usualInstance: Instance = {
  id: 'i-0123456789abcdef0',
  state: 'running',
  amiId: 'ami-0123456789abcdef0',
  vpcId: 'vpc-1',
  subnetId: 'subnet-1',
  profileArn: 'arn:aws:iam::111122223333:instance-profile/app/web',
  tags: {},
}

export const accessItem = (parts: Partial<AccessEntry> = {}): Item<'access'> =>
  item(
    key('access', 'auth_cloud_1', usualInstance.id),
    {
      role: 'dev',
      disallowReauthentication: false,
      pendingTime: '2026-03-01T10:20:30Z',
      createdAt: 1000,
      updatedAt: 1000,
      expiresAt: 2000,
      ...parts,
    },
    'r1',
  )

/** Returns the facts of a login by the usual instance after all look-ups. */
export function ec2Facts(parts: Partial<CompleteEc2Facts> = {}): CompleteEc2Facts {
  const { document = documentOf(), ...rest } = parts
  return {
    type: 'ec2',
    roleName: 'dev',
    role: ec2Role({ bound: { bound_account_id: ['111122223333'] } }),
    source: '192.0.2.1',
    aliasName: 'alias',
    document,
    instanceId: document.instanceId,
    account: document.accountId,
    region: document.region,
    identity: defaultIdentityConfig,
    entry: undefined,
    freshNonce: 'fresh',
    tidy: defaultTidySettings,
    mountMax: 1000,
    now: 50_000,
    instance: usualInstance,
    ...rest,
  }
}

/** A role tag of the role `dev` that restricts nothing. */
export const usualTag: RoleTag = {
  nonce: 'q83vEjRWeJA=',
  role: 'dev',
  disallowReauthentication: false,
  allowInstanceMigration: false,
  policies: [],
  instanceId: '',
  maxTtl: 0,
}

/** Returns a genuine role tag that is not denied, from the text of its items. */
export function tagOf(items = '', parts: Partial<RoleTagFacts> = {}): RoleTagFacts {
  const value = `v1:q83vEjRWeJA=:r=dev:d=false:m=false${items}:${'A'.repeat(43)}=`
  const tag = parseRoleTag(value)?.tag
  return { value, ...(tag ? { tag } : {}), genuine: true, denied: false, ...parts }
}
