import { ceremonyAnswers } from './ceremonies.ts'
import type { Answers } from './describe.ts'
import { methodAnswers } from './method.ts'
import { replicationAnswers } from './replication.ts'
import { mountAnswers, policyAnswers, systemAnswers } from './system.ts'
import { identityAnswers, tokenAnswers } from './tokens.ts'

/** The successful response of every operation. Only the OpenAPI document and the tests read it, so no function loads it. */
export const answers: Answers = {
  ...methodAnswers,
  ...tokenAnswers,
  ...identityAnswers,
  ...mountAnswers,
  ...policyAnswers,
  ...systemAnswers,
  ...replicationAnswers,
  ...ceremonyAnswers,
}
