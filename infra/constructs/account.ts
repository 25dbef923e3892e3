import { Stack, Tags } from 'aws-cdk-lib'
import { ManagedPolicy, PermissionsBoundary, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import type { Settings } from '../settings.ts'

/** Applies the account's tags and permissions boundary to everything in a stack. */
export function applyAccountSettings(stack: Stack, { tags, permissionsBoundaryArn }: Settings): void {
  for (const [name, value] of Object.entries(tags ?? {})) Tags.of(stack).add(name, value)
  if (permissionsBoundaryArn === undefined) return
  const policy = ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', permissionsBoundaryArn)
  PermissionsBoundary.of(stack).apply(policy)
}

type CustomerKey = keyof NonNullable<Settings['customerKeys']>

/** Imports a customer's KMS key once per stack. Returns undefined if the settings name no such key. */
export function importCustomerKey(
  scope: Construct,
  { customerKeys }: Settings,
  name: CustomerKey,
): IKey | undefined {
  const arn = customerKeys?.[name]
  if (arn === undefined) return undefined
  const stack = Stack.of(scope)
  const id = `CustomerKey ${name}`
  return (stack.node.tryFindChild(id) as IKey | undefined) ?? Key.fromKeyArn(stack, id, arn)
}

/** Returns a statement that allows actions on a customer's key only when the named AWS service makes the call. */
export const allowKeyThroughService = (
  scope: Construct,
  service: string,
  { keyArn }: IKey,
  actions: string[],
): PolicyStatement => {
  const { region, urlSuffix } = Stack.of(scope)
  return new PolicyStatement({
    actions,
    resources: [keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } },
  })
}

/**
 * Returns the encryption properties of a log group: the customer's key, or no key for CloudWatch's default
 * encryption.
 */
export function createLogGroupEncryption(scope: Construct, settings: Settings): { encryptionKey?: IKey } {
  const encryptionKey = importCustomerKey(scope, settings, 'logs')
  return encryptionKey ? { encryptionKey } : {}
}
