import { byPolicy, type Group, row } from '../api/endpoint.ts'
import { auditHash, auditHashFields, listAudit } from '../system/audit-hash.ts'

export const auditGroup: Group = {
  name: 'audit',
  endpoints: [
    row.get({
      path: '/sys/audit',
      summary: 'List audit devices; always empty, because the deployment configures the audit log',
      access: byPolicy('read', { sudo: true }),
      mirrored: true,
      handle: listAudit,
    }),
    row.post({
      path: '/sys/audit-hash/:method_path',
      summary: 'Compute the HMAC of a value, as the audit log shows it',
      fields: auditHashFields,
      answers: 'data',
      mirrored: true,
      handle: auditHash,
    }),
  ],
}
