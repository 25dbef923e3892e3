import type { ClientSettings } from '../auth-method/config/client-settings.ts'
import type { EncryptedText } from '../values/secret.ts'

/**
 * The client configuration of a mount, with its secrets.
 * @see docs/spec/configuration.md#client
 */
export interface AwsClientConfig extends ClientSettings {
  secretKey?: EncryptedText
  /** `previousAccessKey`: the key pair before the last rotation, until its deletion is confirmed */
  previousAccessKey?: string
  previousSecretKey?: EncryptedText
}

/** A set of metadata fields of logins. `default` follows later changes of the default set; a list does not. */
export type MetadataSelection = 'default' | readonly string[]

export type JwtAliasKind =
  | 'full_arn'
  | 'role_id'
  | 'instance_id'
  | 'lambda_function'
  | 'kubernetes_service_account'
  | 'identity_store_user'

/**
 * The settings for aliases and metadata of logins.
 * @see docs/spec/configuration.md#identity
 */
export interface IdentityConfig {
  /** `jwtAlias` and `jwtMetadata` are absent until they are configured */
  jwtAlias?: JwtAliasKind
  jwtMetadata?: MetadataSelection
  iamAlias: 'role_id' | 'unique_id' | 'canonical_arn' | 'full_arn'
  ec2Alias: 'role_id' | 'instance_id' | 'image_id'
  /** `usesTrackedSince`: since when logins store uses of roles, epoch milliseconds; absent: they do not */
  usesTrackedSince?: number
  iamMetadata: MetadataSelection
  ec2Metadata: MetadataSelection
}

/**
 * A certificate that an administrator trusts for instance identity documents.
 * @see docs/spec/configuration.md#certificates
 */
export interface Certificate {
  /** the text as configured, one PEM block */
  pem: string
  /** `pkcs7` verifies the rsa2048 and pkcs7 documents, `identity` verifies the separate signature */
  type: 'pkcs7' | 'identity'
}

/** The role to assume for a satellite account. @see docs/spec/configuration.md#sts-roles */
export interface StsRoleConfig {
  role: string
  externalId: string
}
