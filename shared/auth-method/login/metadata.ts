import type { IdentityConfig } from '../../model/config.ts'

/** Metadata that tokens and aliases may carry. The default metadata come first. */
export const loginMetadata = {
  iam: {
    defaults: ['account_id', 'auth_type'],
    extras: [
      'canonical_arn',
      'client_arn',
      'client_user_id',
      'inferred_aws_region',
      'inferred_entity_id',
      'inferred_entity_type',
    ],
  },
  ec2: { defaults: ['account_id', 'auth_type'], extras: ['ami_id', 'instance_id', 'region'] },
} as const

/** The identity configuration of a mount that was never configured. */
export const defaultIdentityConfig: IdentityConfig = {
  iamAlias: 'role_id',
  ec2Alias: 'role_id',
  iamMetadata: 'default',
  ec2Metadata: 'default',
}

/** Returns the names of the metadata that logins of a type carry. */
export function metadataNamesOf(type: 'iam' | 'ec2', config: IdentityConfig): readonly string[] {
  const chosen = type === 'iam' ? config.iamMetadata : config.ec2Metadata
  return chosen === 'default' ? loginMetadata[type].defaults : chosen
}

/** Selects the configured metadata of a login and omits empty values. */
export const selectLoginMetadata = (
  names: readonly string[],
  known: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(names.flatMap(name => (known[name] ? [[name, known[name]] as const] : [])))
