import {
  answer,
  answerAfterChanges,
  type CallOutcome,
  dataAnswer,
  type MountCall,
  noContentAnswer,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { durationField, textField } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { OrganizationConfig } from '../../model/organization.ts'
import { removeItem, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { formatTime } from '../../values/time.ts'
import { warnAboutRole } from './sts.ts'

export const organizationFields = {
  role: textField(
    'ARN of the role to assume in the management account or a delegated account; empty: own credentials',
  ),
  external_id: textField('External ID that the role requires'),
  max_age: durationField('Longest time since the last complete round; default: 1 hour'),
}

const HOUR = 3600
const SHORTEST = HOUR / 2
const LONGEST = 24 * HOUR

const defaults: OrganizationConfig = { role: '', externalId: '', maxAge: HOUR }

/**
 * Handles POST config/organization. Fields that the request leaves out keep their values. Another role may lead to
 * another organization, so the map then counts as too old until the next complete round.
 * @see docs/spec/configuration.md#organization
 */
export async function writeOrganization(call: MountCall<typeof organizationFields>): Promise<CallOutcome> {
  const stored = subjectOf(call, 'organization-config')
  const before = stored?.data ?? defaults
  const { role, external_id, max_age } = call.parameters
  const next: OrganizationConfig = {
    role: role ?? before.role,
    externalId: external_id ?? before.externalId,
    maxAge: max_age ?? before.maxAge,
  }
  if (next.maxAge < SHORTEST || next.maxAge > LONGEST)
    throw invalidRequestError('max_age must be from 30 minutes to 24 hours')
  if (next.role !== '' && parseIamEntity(next.role)?.type !== 'role')
    throw invalidRequestError('role must be the ARN of an IAM role')
  if (next.externalId !== '' && next.role === '') throw invalidRequestError('external_id needs role')
  const place = key('organization-map', call.mount.accessor)
  const [map] = await call.ports.store.read([place])
  const isSame = map !== undefined && next.role === before.role && next.externalId === before.externalId
  const known = isSame ? map.data : { accounts: 0, completedAt: 0 }
  const warnings =
    next.role === '' ? [] : warnAboutRole('role', next.role, call.ports.deployment.assumableRoles)
  return {
    ...answerAfterChanges(
      [
        replaceItem(subjectKeyOf(call, 'organization-config'), stored, next),
        replaceItem(place, map, { ...known, maxAge: next.maxAge }),
      ],
      noContentAnswer(warnings),
    ),
    afterwards: () => startRound(call),
  }
}

// if starting the job fails, the next scheduled round starts it
const startRound = ({ ports, mount }: MountCall): Promise<void> =>
  ports.background.start({ job: 'organization', mount: mount.accessor })

/** Handles GET config/organization. */
export async function readOrganization(call: MountCall): Promise<CallOutcome> {
  const { role, externalId, maxAge } = requireSubject(call, 'organization-config').data
  const [map] = await call.ports.store.read([key('organization-map', call.mount.accessor)])
  const { organization = '', accounts = 0, completedAt = 0, lastError = '' } = map?.data ?? {}
  return answer(
    dataAnswer({
      role,
      external_id: externalId,
      max_age: maxAge,
      organization_id: organization,
      accounts,
      completed_at: completedAt === 0 ? null : formatTime(completedAt),
      last_error: lastError,
    }),
  )
}

/** Handles DELETE config/organization. The job then deletes the accounts, which no login reads any more. */
export const deleteOrganization = (call: MountCall): CallOutcome => ({
  ...answerAfterChanges([
    removeItem(subjectKeyOf(call, 'organization-config')),
    removeItem(key('organization-map', call.mount.accessor)),
  ]),
  afterwards: () => startRound(call),
})
