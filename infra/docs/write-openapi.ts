// Writes docs/openapi.json from the endpoint table: `npm run openapi`.
import { writeFileSync } from 'node:fs'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { endpointAnswers } from '../../shared/endpoints/answers/all.ts'
import { buildOpenApi } from '../../shared/endpoints/openapi.ts'
import { checkoutRoot, version } from '../checkout.ts'

writeFileSync(
  `${checkoutRoot}docs/openapi.json`,
  `${JSON.stringify(buildOpenApi(endpointGroups, endpointAnswers, version), null, 2)}\n`,
)
