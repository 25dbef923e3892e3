import { type Group, policy, row, type SubjectPlace } from '../api/endpoint.ts'
import { listOfMount } from '../api/listing.ts'
import { removeStored } from '../api/subject.ts'
import { createRoleTag, roleTagFields } from '../auth-method/role-tags/create.ts'
import { roleFields } from '../auth-method/roles/fields.ts'
import { readRole, roleWrite } from '../auth-method/roles/handlers.ts'
import { key } from '../storage/kinds.ts'

const role = {
  path: '/auth/:mount/role/:role',
  subject: ({ mount, params }: SubjectPlace) => key('role', mount, params['role'] ?? ''),
} as const

export const rolesGroup: Group = {
  name: 'roles',
  endpoints: [
    row.post({
      ...role,
      summary: 'Create or update a role',
      fields: roleFields,
      access: policy('by-existence'),
      uses: ['write', 'principals'],
      handle: { phases: () => roleWrite },
    }),
    row.get({ ...role, summary: 'Read a role', handle: readRole }),
    row.delete({ ...role, summary: 'Delete a role', uses: ['write'], handle: removeStored }),
    row.post({
      ...role,
      path: `${role.path}/tag`,
      summary: 'Make a role tag',
      fields: roleTagFields,
      answers: 'data',
      secretAnswers: ['tag_value'],
      handle: createRoleTag,
    }),
    row.list({
      path: '/auth/:mount/roles',
      also: '/auth/:mount/role',
      summary: 'List roles',
      handle: listOfMount('role'),
    }),
  ],
}
