import { answer } from '../api/call.ts'
import { allowAnyone, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import {
  healthFields,
  prepareHealth,
  readLeader,
  showHealth,
  showInitStatus,
  showSealStatus,
} from '../system/health.ts'
import { showHaStatus, showVersionHistory } from '../system/inventory.ts'
import { showResultantAcl } from '../system/resultant-acl.ts'

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
      handle: showHealth,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/seal-status',
      summary: 'Seal and initialisation',
      handle: showSealStatus,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/leader',
      summary: 'Read the address of this cluster',
      handle: readLeader,
    }),
    endpointRow.get({
      ...probe,
      path: '/sys/init',
      summary: 'Report whether the cluster is initialised',
      handle: showInitStatus,
    }),
    endpointRow.get({
      path: '/sys/ha-status',
      summary: 'List the nodes of the cluster; always one node',
      mirrored: true,
      handle: showHaStatus,
    }),
    endpointRow.list({
      path: '/sys/version-history',
      summary: 'List the installed versions; only the announced version',
      handle: showVersionHistory,
    }),
    endpointRow.get({
      path: '/sys/internal/ui/resultant-acl',
      summary: 'Read the effective rules of the caller’s policies',
      access: { by: 'token' },
      handle: showResultantAcl,
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
