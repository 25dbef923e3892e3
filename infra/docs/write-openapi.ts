// Writes docs/openapi.json from the endpoint table: `npm run openapi`.
import { writeFileSync } from 'node:fs'
import { groups } from '../../shared/endpoints/all.ts'
import { answers } from '../../shared/endpoints/answers/all.ts'
import { openApi } from '../../shared/endpoints/openapi.ts'
import { root, version } from '../checkout.ts'

writeFileSync(`${root}docs/openapi.json`, `${JSON.stringify(openApi(groups, answers, version), null, 2)}\n`)
