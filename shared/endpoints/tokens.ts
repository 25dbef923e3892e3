import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
import { listFields, listOf } from '../api/listing.ts'
import { removeStored } from '../api/subject.ts'
import { key } from '../storage/kinds.ts'
import { listAccessors } from '../tokens/accessors.ts'
import { createFields, createOrphan, createToken } from '../tokens/create.ts'
import {
  accessorField,
  lookup,
  lookupAccessor,
  lookupSelf,
  requiredToken,
  tokenField,
} from '../tokens/lookup.ts'
import { revoke, revokeAccessor, revokeOrphan, revokeSelf } from '../tokens/revoke.ts'
import { startTokenTidy } from '../tokens/tidy.ts'
import { createWithRole, readTokenRole, tokenRoleFields, writeTokenRole } from '../tokens/token-role.ts'

const look = { answers: 'data', secretAnswers: ['id'] } as const
const revoking = { method: 'POST', access: policy('update'), uses: ['write'], answers: 'nothing' } as const

const creating = {
  method: 'POST',
  fields: createFields,
  access: policy('update'),
  uses: ['write'],
  answers: 'auth',
} as const

const tokenRole = {
  path: '/auth/token/roles/:role_name',
  subject: ({ params }: SubjectPlace) => key('token-role', params['role_name'] ?? ''),
}

export const tokensGroup: Group = {
  name: 'tokens',
  endpoints: [
    endpoint({
      ...look,
      method: 'POST',
      path: '/auth/token/lookup',
      summary: 'Look up a token',
      fields: tokenField,
      access: policy('update'),
      handle: lookup,
    }),
    endpoint({
      ...look,
      method: 'GET',
      path: '/auth/token/lookup',
      summary: 'Look up a token',
      fields: tokenField,
      access: policy('read'),
      handle: lookup,
    }),
    endpoint({
      ...look,
      method: 'GET',
      path: '/auth/token/lookup-self',
      summary: 'Look up the caller’s token',
      access: policy('read'),
      handle: lookupSelf,
    }),
    endpoint({
      ...look,
      method: 'POST',
      path: '/auth/token/lookup-self',
      summary: 'Look up the caller’s token',
      access: policy('update'),
      handle: lookupSelf,
    }),
    endpoint({
      ...look,
      method: 'POST',
      path: '/auth/token/lookup-accessor',
      summary: 'Look up a token by its accessor',
      fields: accessorField,
      access: policy('update'),
      handle: lookupAccessor,
    }),
    endpoint({
      ...revoking,
      path: '/auth/token/revoke',
      summary: 'Revoke a token and its descendants',
      fields: requiredToken,
      handle: revoke,
    }),
    endpoint({
      ...revoking,
      path: '/auth/token/revoke-self',
      summary: 'Revoke the caller’s token',
      handle: revokeSelf,
    }),
    endpoint({
      ...revoking,
      path: '/auth/token/revoke-accessor',
      summary: 'Revoke a token by its accessor',
      fields: accessorField,
      handle: revokeAccessor,
    }),
    endpoint({
      ...revoking,
      path: '/auth/token/revoke-orphan',
      summary: 'Revoke a token but not its children',
      fields: requiredToken,
      access: policy('update', { sudo: true }),
      handle: revokeOrphan,
    }),
    endpoint({
      ...creating,
      path: '/auth/token/create',
      summary: 'Make a token',
      access: policy('create-or-update'),
      handle: createToken,
    }),
    endpoint({
      ...creating,
      path: '/auth/token/create-orphan',
      summary: 'Make a token without parent',
      handle: createOrphan,
    }),
    endpoint({
      ...creating,
      path: '/auth/token/create/:role_name',
      summary: 'Make a token under the rules of a token role',
      subject: tokenRole.subject,
      handle: createWithRole,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/token/accessors',
      summary: 'List the accessors of all tokens; a page of them in the order of the table',
      fields: listFields,
      access: policy('list', { sudo: true }),
      uses: ['scan'],
      answers: 'keys',
      handle: listAccessors,
    }),
    endpoint({
      method: 'POST',
      path: '/auth/token/tidy',
      summary: 'Remove what revoked tokens left behind',
      access: policy('update'),
      uses: ['background'],
      answers: 'accepted',
      handle: startTokenTidy,
    }),
    endpoint({
      ...tokenRole,
      method: 'POST',
      summary: 'Create or update a token role',
      fields: tokenRoleFields,
      access: policy('by-existence'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeTokenRole,
    }),
    endpoint({
      ...tokenRole,
      method: 'GET',
      summary: 'Read a token role',
      access: policy('read'),
      answers: 'data',
      handle: readTokenRole,
    }),
    endpoint({
      ...tokenRole,
      method: 'DELETE',
      summary: 'Delete a token role',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/token/roles',
      summary: 'List token roles',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOf('token-role'),
    }),
  ],
}
