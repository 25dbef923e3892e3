import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
import { listFields, listOfMount } from '../api/listing.ts'
import { removeStored } from '../api/subject.ts'
import { readAccess } from '../auth-method/access-list/manage.ts'
import { allowTag, denyTag, readDenied } from '../auth-method/deny-list/manage.ts'
import { key } from '../storage/kinds.ts'

const access = {
  path: '/auth/:mount/identity-accesslist/:instance_id',
  formerly: '/auth/:mount/identity-whitelist/:instance_id',
  subject: ({ mount, params }: SubjectPlace) => key('access', mount, params['instance_id'] ?? ''),
} as const

const denied = {
  path: '/auth/:mount/roletag-denylist/:role_tag',
  formerly: '/auth/:mount/roletag-blacklist/:role_tag',
} as const

export const listsGroup: Group = {
  name: 'lists',
  endpoints: [
    endpoint({
      ...access,
      method: 'GET',
      summary: 'Read the access-list entry of an instance',
      access: policy('read'),
      answers: 'data',
      secretAnswers: ['client_nonce'],
      handle: readAccess,
    }),
    endpoint({
      ...access,
      method: 'DELETE',
      summary: 'Forget an instance: its next login is a first one',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/:mount/identity-accesslist',
      formerly: '/auth/:mount/identity-whitelist',
      summary: 'List instances that have logged in',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOfMount('access'),
    }),
    endpoint({
      ...denied,
      method: 'POST',
      summary: 'Deny a role tag: no login with it from now on',
      access: policy('update'),
      uses: ['write'],
      answers: 'nothing',
      handle: denyTag,
    }),
    endpoint({
      ...denied,
      method: 'GET',
      summary: 'Read the entry of a denied role tag',
      access: policy('read'),
      answers: 'data',
      handle: readDenied,
    }),
    endpoint({
      ...denied,
      method: 'DELETE',
      summary: 'Allow a denied role tag again',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: allowTag,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/:mount/roletag-denylist',
      formerly: '/auth/:mount/roletag-blacklist',
      summary: 'List denied role tags',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOfMount('deny'),
    }),
  ],
}
