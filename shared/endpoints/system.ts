import { answer } from '../api/call.ts'
import { allowAnyone, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { health, healthFields, initStatus, prepareHealth, readLeader, sealStatus } from '../system/health.ts'
import { haStatus, versionHistory } from '../system/inventory.ts'
import { resultantAcl } from '../system/resultant-acl.ts'

const probe = { access: allowAnyone, serves: 'always', answers: 'plain', unaudited: true } as const

export const systemGroup: EndpointGroup = {
  name: 'system',
  endpoints: [
    endpointRow.get({
      ...probe,
      path: '/sys/health',
      head: true,
      summary: 'Health as an HTTP status',
      fields: healthFields,
      prepare: prepareHealth,
      uses: ['licence'],
      handle: health,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/seal-status',
      summary: 'Seal and initialisation',
      handle: sealStatus,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/leader',
      summary: 'The address of this cluster',
      handle: readLeader,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/init',
      summary: 'Report whether the cluster is initialised',
      handle: initStatus,
    }),
    endpointRow.get({
      path: '/sys/ha-status',
      summary: 'The nodes of the cluster; always one',
      mirrored: true,
      handle: haStatus,
    }),
    endpointRow.list({
      path: '/sys/version-history',
      summary: 'The installed versions; only the announced one',
      handle: versionHistory,
    }),
    endpointRow.get({
      path: '/sys/internal/ui/resultant-acl',
      summary: 'The effective rules of the caller’s policies',
      access: { by: 'token' },
      handle: resultantAcl,
    }),
    endpointRow.get({
      path: '/sys/internal/specs/openapi',
      summary: 'This API as an OpenAPI document',
      access: { by: 'token' },
      answers: 'plain',
      handle: async () => {
        const { buildOpenApiDocument } = await import('./openapi-document.ts')
        return answer({ kind: 'plain', status: 200, body: await buildOpenApiDocument() })
      },
    }),
  ],
}
