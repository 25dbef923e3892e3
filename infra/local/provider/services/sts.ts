import { notAuthorizedText, roleTrustsCaller } from '../identity/permissions.ts'
import { openRoleSession } from '../identity/sessions.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamRole } from '../state/state.ts'
import { AwsError, awsError } from '../wire/errors.ts'
import type { XmlTree } from '../wire/xml.ts'
import { optionalParam, type QueryParams } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

/**
 * GetCallerIdentity (STS API reference) returns the signer. The action needs no permission, and a denial has
 * no effect.
 */
export const getCallerIdentity = ({ caller }: ActionCall<QueryParams>): XmlTree => ({
  Arn: caller.arn,
  UserId: caller.userId,
  Account: caller.account,
})

/** AssumeRole (STS API reference). */
export function assumeRole(call: ActionCall<QueryParams>): XmlTree {
  const order = readAssumeOrder(call.input)
  return assumedRole(call.aws, assumable(call, order.roleArn), order)
}

/** The parameters that all actions for assuming a role have. */
interface AssumeOrder {
  roleArn: string
  sessionName: string
  ttlSeconds: number
}

/** Reads the parameters of an action that assumes a role. @throws ValidationError 400 */
export const readAssumeOrder = (input: QueryParams): AssumeOrder => ({
  roleArn: checked(input, 'RoleArn', /^arn:[\w-]+:iam::\d{12}:role\/.+$/),
  sessionName: checked(input, 'RoleSessionName', /^[\w+=,.@-]{2,64}$/),
  ttlSeconds: durationOf(input),
})

/**
 * Opens a session of a role.
 * @param facts claims of the session's tokens
 * @returns the members that all answers with a session have
 */
export function assumedRole(
  aws: ImitatedAws,
  role: IamRole,
  { sessionName, ttlSeconds }: AssumeOrder,
  facts?: Record<string, unknown>,
): { [name: string]: XmlTree } {
  const session = openRoleSession(aws, role, sessionName, ttlSeconds, facts)
  return {
    Credentials: {
      AccessKeyId: session.accessKeyId,
      SecretAccessKey: session.secretAccessKey,
      SessionToken: session.sessionToken,
      Expiration: session.expiration,
    },
    AssumedRoleUser: { AssumedRoleId: `${role.roleId}:${sessionName}`, Arn: session.arn },
  }
}

/** Returns the role with an ARN, or undefined. */
export function findRoleByArn({ state }: ImitatedAws, roleArn: string): IamRole | undefined {
  const role = state.roles.get(`${roleArn.split(':')[4]}/${roleArn.split('/').at(-1)}`)
  return role?.arn === roleArn ? role : undefined
}

/** Returns a role if the role exists and trusts the caller. AWS gives both failures the same error text. */
function assumable({ aws, caller, input }: ActionCall<QueryParams>, roleArn: string): IamRole {
  if (caller.kind === 'root') throw new AwsError('denied', 'Roles may not be assumed by root accounts.')
  const role = findRoleByArn(aws, roleArn)
  const mayAssume =
    role?.partition === caller.partition &&
    roleTrustsCaller(role, caller) &&
    (role.externalId === null || role.externalId === input.get('ExternalId'))
  if (role !== undefined && mayAssume) return role
  throw new AwsError('denied', notAuthorizedText(caller, 'sts:AssumeRole', roleArn))
}

function durationOf(input: QueryParams): number {
  const seconds = Number(optionalParam(input, 'DurationSeconds') ?? '3600')
  if (Number.isInteger(seconds) && seconds >= 900 && seconds <= 43_200) return seconds
  throw invalid('durationSeconds', input.get('DurationSeconds'), 'have a value between 900 and 43200')
}

/** Returns a parameter of one form. @throws ValidationError 400 */
export function checked(input: QueryParams, name: string, pattern: RegExp): string {
  const value = optionalParam(input, name)
  if (value === undefined) throw invalid(name, undefined, 'not be null')
  if (!pattern.test(value))
    throw invalid(name, value, `satisfy regular expression pattern: ${pattern.source}`)
  return value
}

function invalid(name: string, value: string | undefined, constraint: string): AwsError {
  const member = name.charAt(0).toLowerCase() + name.slice(1)
  const shown = value === undefined ? 'null' : `'${value}'`
  const problem = `Value ${shown} at '${member}' failed to satisfy constraint: Member must ${constraint}`
  return awsError(400, 'ValidationError', `1 validation error detected: ${problem}`)
}
