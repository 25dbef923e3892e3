import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
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

const subject = ({ params }: SubjectPlace) => key('policy', params['policy_name'] ?? '')
const current = { path: '/sys/policies/acl/:policy_name', subject }
const older = { path: '/sys/policy/:policy_name', subject, mirrored: true } as const

const write = {
  method: 'POST',
  fields: policyFields,
  access: policy('by-existence'),
  uses: ['write'],
  answers: 'nothing',
  handle: writePolicy,
} as const
const remove = {
  method: 'DELETE',
  access: policy('delete'),
  uses: ['write'],
  answers: 'nothing',
  handle: deletePolicy,
} as const

const asking = { method: 'POST', access: policy('update'), answers: 'data', mirrored: true } as const

export const policiesGroup: Group = {
  name: 'policies',
  endpoints: [
    endpoint({ ...current, ...write, summary: 'Write a policy' }),
    endpoint({
      ...current,
      method: 'GET',
      summary: 'Read a policy',
      access: policy('read'),
      answers: 'data',
      handle: readPolicy,
    }),
    endpoint({ ...current, ...remove, summary: 'Delete a policy' }),
    endpoint({
      method: 'LIST',
      path: '/sys/policies/acl',
      summary: 'List policies',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listPolicies,
    }),
    endpoint({ ...older, ...write, summary: 'Write a policy (older path)' }),
    endpoint({
      ...older,
      method: 'GET',
      summary: 'Read a policy (older path)',
      access: policy('read'),
      answers: 'data',
      handle: readRules,
    }),
    endpoint({ ...older, ...remove, summary: 'Delete a policy (older path)' }),
    endpoint({
      method: 'GET',
      path: '/sys/policy',
      summary: 'List policies (older path)',
      fields: listFields,
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      handle: listRules,
    }),
    endpoint({
      method: 'LIST',
      path: '/sys/policy',
      summary: 'List policies (older path)',
      fields: listFields,
      access: policy('list'),
      answers: 'data',
      mirrored: true,
      handle: listRules,
    }),
    endpoint({
      ...asking,
      path: '/sys/capabilities-self',
      summary: 'What the caller may do on given paths',
      fields: capabilityFields,
      handle: capabilitiesSelf,
    }),
    endpoint({
      ...asking,
      path: '/sys/capabilities',
      summary: 'What the holder of a token may do on given paths',
      fields: tokenCapabilityFields,
      handle: capabilitiesOfToken,
    }),
    endpoint({
      ...asking,
      path: '/sys/capabilities-accessor',
      summary: 'What the holder of the token of an accessor may do on given paths',
      fields: accessorCapabilityFields,
      handle: capabilitiesOfAccessor,
    }),
  ],
}
