import { type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import { createMountKindListing } from '../api/listing.ts'
import { deleteSubject } from '../api/subject.ts'
import { deleteTagDenial, denyRoleTag, readAccessEntry, readDenyEntry } from '../auth-method/lists.ts'
import { key } from '../storage/kinds.ts'

const access = {
  path: '/auth/:mount/identity-accesslist/:instance_id',
  formerly: '/auth/:mount/identity-whitelist/:instance_id',
  subject: ({ mount, pathParameters }: SubjectPlace) =>
    key('access', mount, pathParameters['instance_id'] ?? ''),
} as const

const denied = {
  path: '/auth/:mount/roletag-denylist/:role_tag',
  formerly: '/auth/:mount/roletag-blacklist/:role_tag',
} as const

export const listsGroup: EndpointGroup = {
  name: 'lists',
  endpoints: [
    endpointRow.get({
      ...access,
      summary: 'Read the access-list entry of an instance',
      secretAnswers: ['client_nonce'],
      handle: readAccessEntry,
    }),
    endpointRow.delete({
      ...access,
      summary: 'Delete the access-list entry of an instance, so that its next login counts as its first',
      uses: ['write'],
      handle: deleteSubject,
    }),
    endpointRow.list({
      path: '/auth/:mount/identity-accesslist',
      formerly: '/auth/:mount/identity-whitelist',
      summary: 'List instances that have logged in',
      handle: createMountKindListing('access'),
    }),
    endpointRow.post({
      ...denied,
      summary: 'Deny a role tag, so that no login can use it',
      uses: ['write'],
      handle: denyRoleTag,
    }),
    endpointRow.get({ ...denied, summary: 'Read the entry of a denied role tag', handle: readDenyEntry }),
    endpointRow.delete({
      ...denied,
      summary: 'Allow a denied role tag again',
      uses: ['write'],
      handle: deleteTagDenial,
    }),
    endpointRow.list({
      path: '/auth/:mount/roletag-denylist',
      formerly: '/auth/:mount/roletag-blacklist',
      summary: 'List denied role tags',
      handle: createMountKindListing('deny'),
    }),
  ],
}
