import {
  capabilitiesSelf,
  capabilityFields,
  deletePolicy,
  listPolicies,
  listRules,
  policyFields,
  readPolicy,
  readRules,
  writePolicy,
} from '../../policies/manage.ts'
import { key } from '../../storage/kinds.ts'
import { endpoint, type Group, type Place, policy } from '../endpoint.ts'

const subject = ({ params }: Place) => key('policy', params['policy_name'] ?? '')
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
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      handle: listRules,
    }),
    endpoint({
      method: 'LIST',
      path: '/sys/policy',
      summary: 'List policies (older path)',
      access: policy('list'),
      answers: 'data',
      mirrored: true,
      handle: listRules,
    }),
    endpoint({
      method: 'POST',
      path: '/sys/capabilities-self',
      summary: 'What the caller may do on given paths',
      fields: capabilityFields,
      access: policy('update'),
      answers: 'data',
      mirrored: true,
      handle: capabilitiesSelf,
    }),
  ],
}
