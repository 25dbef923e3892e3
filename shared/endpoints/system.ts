import { answer } from '../api/call.ts'
import { anyone, type Group, row } from '../api/endpoint.ts'
import { health, healthFields, initStatus, prepareHealth, readLeader, sealStatus } from '../system/health.ts'
import { haStatus, versionHistory } from '../system/inventory.ts'
import { resultantAcl } from '../system/resultant-acl.ts'

const probe = { access: anyone, serves: 'always', answers: 'plain', unaudited: true } as const

export const systemGroup: Group = {
  name: 'system',
  endpoints: [
    row.get({
      ...probe,
      path: '/sys/health',
      head: true,
      summary: 'Health as an HTTP status',
      fields: healthFields,
      prepare: prepareHealth,
      uses: ['licence'],
      handle: health,
    }),
    row.get({ ...probe, path: '/sys/seal-status', summary: 'Seal and initialisation', handle: sealStatus }),
    row.get({ ...probe, path: '/sys/leader', summary: 'The address of this cluster', handle: readLeader }),
    row.get({
      ...probe,
      path: '/sys/init',
      summary: 'Report whether the cluster is initialised',
      handle: initStatus,
    }),
    row.get({
      path: '/sys/ha-status',
      summary: 'The nodes of the cluster; always one',
      mirrored: true,
      handle: haStatus,
    }),
    row.list({
      path: '/sys/version-history',
      summary: 'The installed versions; only the announced one',
      handle: versionHistory,
    }),
    row.get({
      path: '/sys/internal/ui/resultant-acl',
      summary: 'The effective rules of the caller’s policies',
      access: { by: 'token' },
      handle: resultantAcl,
    }),
    row.get({
      path: '/sys/internal/specs/openapi',
      summary: 'This API as an OpenAPI document',
      access: { by: 'token' },
      answers: 'plain',
      handle: async () => {
        const { openApiDocument } = await import('./openapi-document.ts')
        return answer({ kind: 'plain', status: 200, body: await openApiDocument() })
      },
    }),
  ],
}
