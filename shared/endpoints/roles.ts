import { byPolicy, type Group, row, type SubjectPlace } from '../api/endpoint.ts'
import { listKindOfMount } from '../api/listing.ts'
import { removeSubject } from '../api/subject.ts'
import { createRoleTag, roleTagFields } from '../auth-method/role-tags/create.ts'
import { roleFields } from '../auth-method/roles/fields.ts'
import { readRole, writeRolePhases } from '../auth-method/roles/handlers.ts'
import { key } from '../storage/kinds.ts'

const role = {
  path: '/auth/:mount/role/:role',
  subject: ({ mount, pathParameters }: SubjectPlace) => key('role', mount, pathParameters['role'] ?? ''),
} as const

export const rolesGroup: Group = {
  name: 'roles',
  endpoints: [
    row.post({
      ...role,
      summary: 'Create or update a role',
      fields: roleFields,
      access: byPolicy('by-existence'),
      uses: ['write', 'principals'],
      handle: { phases: () => writeRolePhases },
    }),
    row.get({ ...role, summary: 'Read a role', handle: readRole }),
    row.delete({ ...role, summary: 'Delete a role', uses: ['write'], handle: removeSubject }),
    row.post({
      ...role,
      path: `${role.path}/tag`,
      summary: 'Create a role tag',
      fields: roleTagFields,
      answers: 'data',
      secretAnswers: ['tag_value'],
      handle: createRoleTag,
    }),
    row.list({
      path: '/auth/:mount/roles',
      also: '/auth/:mount/role',
      summary: 'List roles',
      handle: listKindOfMount('role'),
    }),
  ],
}
