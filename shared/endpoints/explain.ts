import { type Group, row } from '../api/endpoint.ts'
import { explainPhases } from '../auth-method/explain.ts'
import { loginFields } from '../auth-method/login/fields.ts'
import { key } from '../storage/kinds.ts'

/** Apart from the roles, because it does everything that a login does but write: it needs a login's grants. */
export const explainGroup: Group = {
  name: 'explain',
  endpoints: [
    row.post({
      path: '/auth/:mount/role/:role/explain',
      summary: 'Run every check of a login and report each, without logging in',
      fields: loginFields,
      uses: ['instances', 'principals', 'caller-identity'],
      answers: 'data',
      subject: ({ mount, pathParameters }) => key('role', mount, pathParameters['role'] ?? ''),
      handle: { phases: () => explainPhases },
    }),
  ],
}
