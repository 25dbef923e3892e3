import { allowByPolicy, type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import { createKindListing } from '../api/listing.ts'
import { deleteSubject } from '../api/subject.ts'
import { key } from '../storage/kinds.ts'
import { listTokenAccessors } from '../tokens/accessors.ts'
import { createOrphanToken, createToken, createTokenFields } from '../tokens/create.ts'
import {
  accessorField,
  lookUpOwnToken,
  lookUpToken,
  lookUpTokenByAccessor,
  requiredToken,
  tokenField,
} from '../tokens/lookup.ts'
import { revokeOwnToken, revokeToken, revokeTokenAndOrphan, revokeTokenByAccessor } from '../tokens/revoke.ts'
import { startTokenTidy } from '../tokens/tidy.ts'
import { createTokenWithRole, readTokenRole, tokenRoleFields, writeTokenRole } from '../tokens/token-role.ts'

const look = { answers: 'data', secretAnswers: ['id'] } as const
const lookUp = {
  ...look,
  path: '/auth/token/lookup',
  summary: 'Look up a token',
  fields: tokenField,
  handle: lookUpToken,
}
const lookUpSelf = {
  ...look,
  path: '/auth/token/lookup-self',
  summary: 'Look up the caller’s token',
  handle: lookUpOwnToken,
}
const creating = { fields: createTokenFields, uses: ['write'], answers: 'auth' } as const

const tokenRole = {
  path: '/auth/token/roles/:role_name',
  subject: ({ pathParameters }: SubjectPlace) => key('token-role', pathParameters['role_name'] ?? ''),
}

export const tokensGroup: EndpointGroup = {
  name: 'tokens',
  endpoints: [
    endpointRow.post(lookUp),
    endpointRow.get(lookUp),
    endpointRow.get(lookUpSelf),
    endpointRow.post(lookUpSelf),
    endpointRow.post({
      ...look,
      path: '/auth/token/lookup-accessor',
      summary: 'Look up a token by its accessor',
      fields: accessorField,
      handle: lookUpTokenByAccessor,
    }),
    endpointRow.post({
      uses: ['write'],
      path: '/auth/token/revoke',
      summary: 'Revoke a token and its descendants',
      fields: requiredToken,
      handle: revokeToken,
    }),
    endpointRow.post({
      uses: ['write'],
      path: '/auth/token/revoke-self',
      summary: 'Revoke the caller’s token',
      handle: revokeOwnToken,
    }),
    endpointRow.post({
      uses: ['write'],
      path: '/auth/token/revoke-accessor',
      summary: 'Revoke a token by its accessor',
      fields: accessorField,
      handle: revokeTokenByAccessor,
    }),
    endpointRow.post({
      uses: ['write'],
      path: '/auth/token/revoke-orphan',
      summary: 'Revoke a token but not its children',
      fields: requiredToken,
      access: allowByPolicy('update', { sudo: true }),
      handle: revokeTokenAndOrphan,
    }),
    endpointRow.post({
      ...creating,
      path: '/auth/token/create',
      summary: 'Create a token',
      access: allowByPolicy('create-or-update'),
      handle: createToken,
    }),
    endpointRow.post({
      ...creating,
      path: '/auth/token/create-orphan',
      summary: 'Create an orphan token',
      handle: createOrphanToken,
    }),
    endpointRow.post({
      ...creating,
      path: '/auth/token/create/:role_name',
      summary: 'Create a token with a token role',
      subject: tokenRole.subject,
      handle: createTokenWithRole,
    }),
    endpointRow.list({
      path: '/auth/token/accessors',
      summary: 'List the accessors of all tokens; pages are in table order',
      access: allowByPolicy('list', { sudo: true }),
      uses: ['scan'],
      handle: listTokenAccessors,
    }),
    endpointRow.post({
      path: '/auth/token/tidy',
      summary: 'Remove invalid tokens, and parent index entries of tokens that no longer exist',
      uses: ['background'],
      answers: 'accepted',
      handle: startTokenTidy,
    }),
    endpointRow.post({
      ...tokenRole,
      summary: 'Create or update a token role',
      fields: tokenRoleFields,
      access: allowByPolicy('by-existence'),
      uses: ['write'],
      handle: writeTokenRole,
    }),
    endpointRow.get({ ...tokenRole, summary: 'Read a token role', handle: readTokenRole }),
    endpointRow.delete({
      ...tokenRole,
      summary: 'Delete a token role',
      uses: ['write'],
      handle: deleteSubject,
    }),
    endpointRow.list({
      path: '/auth/token/roles',
      summary: 'List token roles',
      handle: createKindListing('token-role'),
    }),
  ],
}
