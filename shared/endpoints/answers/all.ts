import { ceremonyAnswers } from './ceremonies.ts'
import type { AnswerDescriptions } from './describe.ts'
import { authMethodAnswers } from './method.ts'
import { replicationAnswers } from './replication.ts'
import { mountAnswers, policyAnswers, systemAnswers } from './system.ts'
import { identityAnswers, tokenAnswers } from './tokens.ts'

/** The successful response of every operation. Only the OpenAPI document and the tests read it, so no function loads it. */
export const endpointAnswers: AnswerDescriptions = {
  ...authMethodAnswers,
  ...tokenAnswers,
  ...identityAnswers,
  ...mountAnswers,
  ...policyAnswers,
  ...systemAnswers,
  ...replicationAnswers,
  ...ceremonyAnswers,
}
