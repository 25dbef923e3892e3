import { allowByPolicy, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { auditHashFields, computeAuditHash, listAuditDevices } from '../system/audit-hash.ts'

export const auditGroup: EndpointGroup = {
  name: 'audit',
  endpoints: [
    endpointRow.get({
      path: '/sys/audit',
      summary: 'List audit devices; always empty, because the deployment configures the audit log',
      access: allowByPolicy('read', { sudo: true }),
      mirrored: true,
      handle: listAuditDevices,
    }),
    endpointRow.post({
      path: '/sys/audit-hash/:method_path',
      summary: 'Compute the HMAC of a value, as the audit log shows it',
      fields: auditHashFields,
      answers: 'data',
      mirrored: true,
      handle: computeAuditHash,
    }),
  ],
}
