import { allowByPolicy, type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import { listFields } from '../api/listing.ts'
import {
  deletePolicy,
  listPolicies,
  listPolicyRules,
  policyFields,
  readPolicy,
  readPolicyRules,
  writePolicy,
} from '../policies/manage.ts'
import { key } from '../storage/kinds.ts'
import {
  accessorCapabilityFields,
  capabilityFields,
  showAccessorCapabilities,
  showOwnCapabilities,
  showTokenCapabilities,
  tokenCapabilityFields,
} from '../system/capabilities.ts'

const subject = ({ pathParameters }: SubjectPlace) => key('policy', pathParameters['policy_name'] ?? '')
const current = { path: '/sys/policies/acl/:policy_name', subject }
const older = { path: '/sys/policy/:policy_name', subject, mirrored: true } as const

const write = {
  fields: policyFields,
  access: allowByPolicy('by-existence'),
  uses: ['write'],
  handle: writePolicy,
} as const
const remove = { uses: ['write'], handle: deletePolicy } as const

const asking = { answers: 'data', mirrored: true } as const

export const policiesGroup: EndpointGroup = {
  name: 'policies',
  endpoints: [
    endpointRow.post({ ...current, ...write, summary: 'Write a policy' }),
    endpointRow.get({ ...current, summary: 'Read a policy', handle: readPolicy }),
    endpointRow.delete({ ...current, ...remove, summary: 'Delete a policy' }),
    endpointRow.list({ path: '/sys/policies/acl', summary: 'List policies', handle: listPolicies }),
    endpointRow.post({ ...older, ...write, summary: 'Write a policy (older path)' }),
    endpointRow.get({ ...older, summary: 'Read a policy (older path)', handle: readPolicyRules }),
    endpointRow.delete({ ...older, ...remove, summary: 'Delete a policy (older path)' }),
    endpointRow.get({
      path: '/sys/policy',
      summary: 'List policies (older path)',
      fields: listFields,
      mirrored: true,
      handle: listPolicyRules,
    }),
    endpointRow.list({
      path: '/sys/policy',
      summary: 'List policies (older path)',
      answers: 'data',
      mirrored: true,
      handle: listPolicyRules,
    }),
    endpointRow.post({
      ...asking,
      path: '/sys/capabilities-self',
      summary: 'Show the caller’s capabilities on given paths',
      fields: capabilityFields,
      handle: showOwnCapabilities,
    }),
    endpointRow.post({
      ...asking,
      path: '/sys/capabilities',
      summary: 'Show a token’s capabilities on given paths',
      fields: tokenCapabilityFields,
      handle: showTokenCapabilities,
    }),
    endpointRow.post({
      ...asking,
      path: '/sys/capabilities-accessor',
      summary: 'Show the capabilities of an accessor’s token on given paths',
      fields: accessorCapabilityFields,
      handle: showAccessorCapabilities,
    }),
  ],
}
