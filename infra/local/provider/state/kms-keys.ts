import { randomBytes, randomUUID } from 'node:crypto'
import { partitionNamed } from '../signing/host-rule.ts'
import type { ImitatedAws } from './imitated-aws.ts'
import type { KmsKey } from './state.ts'

/** Where a key id without account and region is looked up. */
export interface KeyPlace {
  account: string
  region: string
}

/** Creates a key, with an alias when one is given. */
export function putKey(aws: ImitatedAws, place: KeyPlace, alias: string | undefined): KmsKey {
  const key = createKey(aws, arnIn(place, `key/${randomUUID()}`))
  if (alias !== undefined) {
    aws.state.kmsAliases.set(arnIn(place, `alias/${alias.replace(/^alias\//, '')}`), key.arn)
  }
  return key
}

/**
 * The key behind a key id, key ARN, alias or alias ARN. What does not exist is created, so that a key that
 * only a template names works.
 *
 * @returns undefined when the text is none of the four
 */
export function openKey(aws: ImitatedAws, place: KeyPlace, keyId: string): KmsKey | undefined {
  const arn = fullArn(place, keyId)
  if (arn === undefined) return undefined
  if (!arn.includes(':alias/')) return aws.state.kmsKeys.get(arn) ?? createKey(aws, arn)
  const target = aws.state.kmsKeys.get(aws.state.kmsAliases.get(arn) ?? '')
  if (target !== undefined) return target
  const [, , , region = '', account = ''] = arn.split(':')
  const key = createKey(aws, arnIn({ account, region }, `key/${randomUUID()}`))
  aws.state.kmsAliases.set(arn, key.arn)
  return key
}

/** Enables or disables a key; false when there is none of that ARN. */
export function setKeyEnabled(aws: ImitatedAws, arn: string, enabled: boolean): boolean {
  const key = aws.state.kmsKeys.get(arn)
  if (key === undefined) return false
  key.enabled = enabled
  aws.changed()
  return true
}

function createKey(aws: ImitatedAws, arn: string): KmsKey {
  const [, , , , account = '', resource = ''] = arn.split(':')
  const key: KmsKey = {
    arn,
    account,
    keyId: resource.slice('key/'.length),
    material: randomBytes(32).toString('base64'),
    enabled: true,
    createdAt: aws.now(),
  }
  aws.state.kmsKeys.set(arn, key)
  aws.changed()
  return key
}

function fullArn(place: KeyPlace, keyId: string): string | undefined {
  if (/^arn:[\w-]+:kms:[\w-]+:\d{12}:(key\/[\w-]+|alias\/[\w/-]+)$/.test(keyId)) return keyId
  if (/^alias\/[\w/-]+$/.test(keyId)) return arnIn(place, keyId)
  return /^[\w-]+$/.test(keyId) ? arnIn(place, `key/${keyId}`) : undefined
}

const arnIn = ({ account, region }: KeyPlace, resource: string): string =>
  `arn:${partitionNamed(region)}:kms:${region}:${account}:${resource}`
