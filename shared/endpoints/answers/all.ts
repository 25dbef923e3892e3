import { ceremonyAnswers } from './ceremonies.ts'
import type { Answers } from './describe.ts'
import { methodAnswers } from './method.ts'
import { replicationAnswers } from './replication.ts'
import { mountAnswers, policyAnswers, systemAnswers } from './system.ts'
import { identityAnswers, tokenAnswers } from './tokens.ts'

/**
 * What every operation of the endpoint table answers. The document and the tests read it; no function does, so that no
 * login loads it.
 */
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
