import { allowByPolicy, type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import { createMountKindListing } from '../api/listing.ts'
import { deleteSubject } from '../api/subject.ts'
import { createRoleTag, roleTagFields } from '../auth-method/role-tags/create.ts'
import { roleFields } from '../auth-method/roles/fields.ts'
import { readRole, writeRolePhases } from '../auth-method/roles/handlers.ts'
import { key } from '../storage/kinds.ts'

const role = {
  path: '/auth/:mount/role/:role',
  subject: ({ mount, pathParameters }: SubjectPlace) => key('role', mount, pathParameters['role'] ?? ''),
} as const

export const rolesGroup: EndpointGroup = {
  name: 'roles',
  endpoints: [
    endpointRow.post({
      ...role,
      summary: 'Create or update a role',
      fields: roleFields,
      access: allowByPolicy('by-existence'),
      uses: ['write', 'principals'],
      handle: { phases: () => writeRolePhases },
    }),
    endpointRow.get({ ...role, summary: 'Read a role', handle: readRole }),
    endpointRow.delete({ ...role, summary: 'Delete a role', uses: ['write'], handle: deleteSubject }),
    endpointRow.post({
      ...role,
      path: `${role.path}/tag`,
      summary: 'Create a role tag',
      fields: roleTagFields,
      answers: 'data',
      secretAnswers: ['tag_value'],
      handle: createRoleTag,
    }),
    endpointRow.list({
      path: '/auth/:mount/roles',
      also: '/auth/:mount/role',
      summary: 'List roles',
      handle: createMountKindListing('role'),
    }),
  ],
}
