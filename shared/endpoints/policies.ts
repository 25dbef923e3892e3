import { byPolicy, type Group, row, type SubjectPlace } from '../api/endpoint.ts'
import { listFields } from '../api/listing.ts'
import {
  deletePolicy,
  listPolicies,
  listRules,
  policyFields,
  readPolicy,
  readRules,
  writePolicy,
} from '../policies/manage.ts'
import { key } from '../storage/kinds.ts'
import {
  accessorCapabilityFields,
  capabilitiesOfAccessor,
  capabilitiesOfToken,
  capabilitiesSelf,
  capabilityFields,
  tokenCapabilityFields,
} from '../system/capabilities.ts'

const subject = ({ pathParameters }: SubjectPlace) => key('policy', pathParameters['policy_name'] ?? '')
const current = { path: '/sys/policies/acl/:policy_name', subject }
const older = { path: '/sys/policy/:policy_name', subject, mirrored: true } as const

const write = {
  fields: policyFields,
  access: byPolicy('by-existence'),
  uses: ['write'],
  handle: writePolicy,
} as const
const remove = { uses: ['write'], handle: deletePolicy } as const

const asking = { answers: 'data', mirrored: true } as const

export const policiesGroup: Group = {
  name: 'policies',
  endpoints: [
    row.post({ ...current, ...write, summary: 'Write a policy' }),
    row.get({ ...current, summary: 'Read a policy', handle: readPolicy }),
    row.delete({ ...current, ...remove, summary: 'Delete a policy' }),
    row.list({ path: '/sys/policies/acl', summary: 'List policies', handle: listPolicies }),
    row.post({ ...older, ...write, summary: 'Write a policy (older path)' }),
    row.get({ ...older, summary: 'Read a policy (older path)', handle: readRules }),
    row.delete({ ...older, ...remove, summary: 'Delete a policy (older path)' }),
    row.get({
      path: '/sys/policy',
      summary: 'List policies (older path)',
      fields: listFields,
      mirrored: true,
      handle: listRules,
    }),
    row.list({
      path: '/sys/policy',
      summary: 'List policies (older path)',
      answers: 'data',
      mirrored: true,
      handle: listRules,
    }),
    row.post({
      ...asking,
      path: '/sys/capabilities-self',
      summary: 'Capabilities of the caller on given paths',
      fields: capabilityFields,
      handle: capabilitiesSelf,
    }),
    row.post({
      ...asking,
      path: '/sys/capabilities',
      summary: 'Capabilities of a token on given paths',
      fields: tokenCapabilityFields,
      handle: capabilitiesOfToken,
    }),
    row.post({
      ...asking,
      path: '/sys/capabilities-accessor',
      summary: 'Capabilities of an accessor’s token on given paths',
      fields: accessorCapabilityFields,
      handle: capabilitiesOfAccessor,
    }),
  ],
}
