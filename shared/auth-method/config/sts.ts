import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  noContentAnswer,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { textField } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { StsRoleConfig } from '../../model/config.ts'
import { replaceItem } from '../../storage/changes.ts'
import { isAssumableRole, parseIamEntity } from '../../values/arn.ts'
import { unsupportedRegionFault } from '../../values/region.ts'

export const stsRoleFields = {
  sts_role: textField('ARN of the role to assume for this account'),
  external_id: textField('External ID that the role requires'),
}

/**
 * Handles POST config/sts/:account_id. Fields that the request leaves out keep their values.
 * @see docs/spec/configuration.md#sts-roles
 */
export function writeStsRole(call: Call<typeof stsRoleFields>): CallOutcome {
  const place = subjectKeyOf(call, 'sts-role')
  const stored = subjectOf(call, 'sts-role')
  const role = call.parameters.sts_role ?? stored?.data.role ?? ''
  if (role === '') throw invalidRequestError('sts_role is required')
  const externalId = call.parameters.external_id ?? stored?.data.externalId ?? ''
  const next: StsRoleConfig = { role, externalId }
  return answerAfterChanges(
    [replaceItem(place, stored, next)],
    noContentAnswer([
      ...(/^\d{12}$/.test(place.sk)
        ? warnAboutAccount(place.sk, role)
        : ['the account ID is not a 12-digit number: no AWS account has such an ID']),
      ...warnAboutRole('sts_role', role, call.ports.deployment.assumableRoles),
    ]),
  )
}

/** Returns a warning if a role is in another account than the one for which the service assumes it. */
function warnAboutAccount(account: string, role: string): string[] {
  const own = parseIamEntity(role)?.account
  return own === undefined || own === account
    ? []
    : [`sts_role is a role of account ${own}: calls about account ${account} would reach account ${own}`]
}

/**
 * Returns the warnings about a configured role that the service assumes.
 * @param assumable patterns of the roles that the deployment allows
 */
export function warnAboutRole(field: string, role: string, assumable: readonly string[]): string[] {
  const entity = parseIamEntity(role)
  const warnings: string[] = []
  if (entity?.type !== 'role')
    warnings.push(unsupportedRegionFault(role, field) ?? `${field} is not the ARN of an IAM role`)
  else if (!isAssumableRole(assumable, role)) {
    warnings.push(`this deployment is not allowed to assume ${field}: widen its setting assumableRoleArns`)
  }
  return warnings
}

export function readStsRole(call: Call): CallOutcome {
  const { role, externalId } = requireSubject(call, 'sts-role').data
  return answer(dataAnswer({ sts_role: role, external_id: externalId }))
}
