import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
import { listFields, listOfMount } from '../api/listing.ts'
import { removeStored } from '../api/subject.ts'
import { createRoleTag, roleTagFields } from '../auth-method/role-tags/create.ts'
import { roleFields } from '../auth-method/roles/fields.ts'
import { readRole } from '../auth-method/roles/read.ts'
import { roleWrite } from '../auth-method/roles/write.ts'
import { key } from '../storage/kinds.ts'

const role = {
  path: '/auth/:mount/role/:role',
  subject: ({ mount, params }: SubjectPlace) => key('role', mount, params['role'] ?? ''),
} as const

export const rolesGroup: Group = {
  name: 'roles',
  endpoints: [
    endpoint({
      ...role,
      method: 'POST',
      summary: 'Create or update a role',
      fields: roleFields,
      access: policy('by-existence'),
      uses: ['write', 'principals'],
      answers: 'nothing',
      handle: { phases: () => roleWrite },
    }),
    endpoint({
      ...role,
      method: 'GET',
      summary: 'Read a role',
      access: policy('read'),
      answers: 'data',
      handle: readRole,
    }),
    endpoint({
      ...role,
      method: 'DELETE',
      summary: 'Delete a role',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),
    endpoint({
      ...role,
      method: 'POST',
      path: `${role.path}/tag`,
      summary: 'Make a role tag',
      fields: roleTagFields,
      access: policy('update'),
      answers: 'data',
      secretAnswers: ['tag_value'],
      handle: createRoleTag,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/:mount/roles',
      also: '/auth/:mount/role',
      summary: 'List roles',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOfMount('role'),
    }),
  ],
}
