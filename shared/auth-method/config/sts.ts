import { answer, answerAfter, type Call, data, noContent, type Outcome } from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { text } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { StsRole } from '../../model/config.ts'
import { replace } from '../../storage/changes.ts'
import { matchesRolePattern, parseEntity } from '../../values/arn.ts'
import { unsupportedFault } from '../../values/region.ts'

export const stsFields = {
  sts_role: text('ARN of the role to assume for this account'),
  external_id: text('External ID that the role requires'),
}

/**
 * Handles POST config/sts/:account_id. Fields that the request leaves out keep their values.
 * @see docs/spec/configuration.md#sts-roles
 */
export function writeSts(call: Call<typeof stsFields>): Outcome {
  const place = subjectKeyOf(call, 'sts-role')
  const stored = subjectOf(call, 'sts-role')
  const role = call.parameters.sts_role ?? stored?.data.role ?? ''
  if (role === '') throw invalidRequestError('sts_role is required')
  const externalId = call.parameters.external_id ?? stored?.data.externalId ?? ''
  const next: StsRole = { role, externalId }
  return answerAfter(
    [replace(place, stored, next)],
    noContent(warningsOf(place.sk, role, call.ports.deployment.assumableRoles)),
  )
}

function warningsOf(account: string, role: string, assumable: readonly string[]): string[] {
  const entity = parseEntity(role)
  const warnings: string[] = []
  if (!/^\d{12}$/.test(account))
    warnings.push('the account ID is not a 12-digit number: no login can come from it')
  if (entity?.type !== 'role')
    warnings.push(unsupportedFault(role, 'sts_role') ?? 'sts_role is not the ARN of an IAM role')
  else if (!assumable.some(pattern => matchesRolePattern(pattern, role))) {
    warnings.push('this deployment is not allowed to assume sts_role: widen its setting assumableRoleArns')
  }
  return warnings
}

export function readSts(call: Call): Outcome {
  const { role, externalId } = requireSubject(call, 'sts-role').data
  return answer(data({ sts_role: role, external_id: externalId }))
}
