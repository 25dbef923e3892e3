import { endpoint, type Group, operationToken } from '../api/endpoint.ts'
import { named } from '../api/licence.ts'
import { deleteOperationToken } from '../ceremony/operation-token.ts'

/** What makes and voids the tokens by which a DR secondary is operated. */
export const ceremonyGroup: Group = {
  name: 'ceremony',
  prefixes: [
    '/sys/replication/dr/secondary/generate-operation-token',
    '/sys/replication/dr/secondary/operation-token',
  ],
  endpoints: [
    endpoint({
      method: 'POST',
      path: '/sys/replication/dr/secondary/operation-token/delete',
      summary: 'Void the DR operation token that was generated',
      access: operationToken,
      serves: 'secondary',
      licence: named,
      answers: 'nothing',
      handle: deleteOperationToken,
    }),
  ],
}
