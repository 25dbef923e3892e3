import { answer } from '../api/call.ts'
import { anyone, endpoint, type Group, policy } from '../api/endpoint.ts'
import { listFields } from '../api/listing.ts'
import { health, healthFields, initStatus, leader, prepareHealth, sealStatus } from '../system/health.ts'
import { haStatus, versionHistory } from '../system/inventory.ts'
import { resultantAcl } from '../system/resultant-acl.ts'

const probe = { method: 'GET', access: anyone, serves: 'always', answers: 'plain', unaudited: true } as const

export const systemGroup: Group = {
  name: 'system',
  endpoints: [
    endpoint({
      ...probe,
      path: '/sys/health',
      head: true,
      summary: 'Health, as a status code',
      fields: healthFields,
      prepare: prepareHealth,
      uses: ['licence'],
      handle: health,
    }),
    endpoint({ ...probe, path: '/sys/seal-status', summary: 'Seal and initialisation', handle: sealStatus }),
    endpoint({ ...probe, path: '/sys/leader', summary: 'The address of this cluster', handle: leader }),
    endpoint({
      ...probe,
      path: '/sys/init',
      summary: 'Whether the cluster is initialised',
      handle: initStatus,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/ha-status',
      summary: 'The nodes of the cluster: there is one',
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      handle: haStatus,
    }),
    endpoint({
      method: 'LIST',
      path: '/sys/version-history',
      summary: 'The versions that were installed: the announced one',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: versionHistory,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/internal/ui/resultant-acl',
      summary: 'What the caller’s policies come to',
      access: { by: 'token' },
      answers: 'data',
      handle: resultantAcl,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/internal/specs/openapi',
      summary: 'This interface as an OpenAPI document',
      access: { by: 'token' },
      answers: 'plain',
      handle: async () => {
        const { openApiDocument } = await import('./openapi-document.ts')
        return answer({ kind: 'plain', status: 200, body: await openApiDocument() })
      },
    }),
  ],
}
