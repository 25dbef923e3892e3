import type { IdentityConfig, JwtAliasKind } from '../../model/config.ts'

/** The values an alias name of a login by token may be taken from. */
export const jwtAliasKinds = [
  'full_arn',
  'role_id',
  'instance_id',
  'lambda_function',
  'kubernetes_service_account',
  'identity_store_user',
] as const satisfies readonly JwtAliasKind[]

/** The tags that EKS Pod Identity adds to sessions, by the name of the metadata. */
export const podTags = {
  eks_cluster_arn: 'eks-cluster-arn',
  eks_cluster_name: 'eks-cluster-name',
  kubernetes_namespace: 'kubernetes-namespace',
  kubernetes_service_account: 'kubernetes-service-account',
  kubernetes_pod_name: 'kubernetes-pod-name',
  kubernetes_pod_uid: 'kubernetes-pod-uid',
} as const

const DEFAULTS = ['account_id', 'auth_type'] as const

/** Metadata that a login by token may carry, besides tags. The default metadata come first. */
export const jwtMetadataNames: readonly string[] = [
  ...DEFAULTS,
  'principal_arn',
  'org_id',
  'ou_path',
  'region',
  'instance_id',
  'vpc_id',
  'lambda_function_arn',
  'source_identity',
  'identity_store_user_id',
  'federated_provider',
  ...Object.keys(podTags),
]

const TAG = /^(tag|request_tag):(.+)$/

/** Returns the prefix and the key of a metadata name that selects a tag; undefined for other names. */
export function parseTagMetadata(name: string): { from: 'tag' | 'request_tag'; key: string } | undefined {
  const [, from, key] = TAG.exec(name) ?? []
  return key === undefined ? undefined : { from: from as 'tag' | 'request_tag', key }
}

/** Converts a metadata name to lower case, but not the key of a tag, because AWS distinguishes the case of keys. */
export function normaliseJwtMetadata(name: string): string {
  const trimmed = name.trim()
  const mark = trimmed.indexOf(':')
  return mark < 0 ? trimmed.toLowerCase() : trimmed.slice(0, mark).toLowerCase() + trimmed.slice(mark)
}

/** Reports whether a name selects metadata of a login by token. */
export const isJwtMetadata = (name: string): boolean =>
  jwtMetadataNames.includes(name) || parseTagMetadata(name) !== undefined

export const jwtAliasOf = ({ jwtAlias = 'full_arn' }: Pick<IdentityConfig, 'jwtAlias'>): JwtAliasKind =>
  jwtAlias

export const jwtMetadataOf = ({ jwtMetadata = 'default' }: IdentityConfig): readonly string[] =>
  jwtMetadata === 'default' ? DEFAULTS : jwtMetadata
