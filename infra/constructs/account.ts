import { Stack, Tags } from 'aws-cdk-lib'
import { ManagedPolicy, PermissionsBoundary, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import type { Settings } from '../settings.ts'

/** What the settings want of everything in a stack: its tags, and the boundary of its roles. */
export function applyAccountSettings(stack: Stack, { tags, permissionsBoundaryArn }: Settings): void {
  for (const [name, value] of Object.entries(tags ?? {})) Tags.of(stack).add(name, value)
  if (permissionsBoundaryArn === undefined) return
  const policy = ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', permissionsBoundaryArn)
  PermissionsBoundary.of(stack).apply(policy)
}

type CustomerKey = keyof NonNullable<Settings['customerKeys']>

/** A customer's key, once in each stack; undefined: the settings name none. */
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

/** What of a customer's key a role needs who reaches what a service has encrypted with it: through that service alone. */
export const allowThroughService = (
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

/** How a log group is encrypted: as CloudWatch does it, or by the customer's key. */
export function logGroupEncryption(scope: Construct, settings: Settings): { encryptionKey?: IKey } {
  const encryptionKey = importCustomerKey(scope, settings, 'logs')
  return encryptionKey ? { encryptionKey } : {}
}
