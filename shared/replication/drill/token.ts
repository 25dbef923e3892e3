import type { Token } from '../../model/token.ts'
import { key } from '../../storage/kinds.ts'
import { issueBatch } from '../../tokens/mint.ts'
import { defaultParameters, keptTerms } from '../../tokens/parameters.ts'
import type { DrillRun } from './run.ts'

/** Seconds for which a step's token counts: a step asks for another one each time. */
const DRILL_TOKEN_TTL_SECONDS = 1800

/**
 * A batch token for one step of a drill, by the set's keyring. It allows what the drill's policy allows, on both clusters, and
 * is stored nowhere. Without such a policy it allows nothing.
 */
export async function issueDrillToken({
  ports: { cipher, clock, store },
  policy,
}: DrillRun): Promise<string> {
  const [record] = await store.read([key('cluster')])
  if (record) cipher.expect(record.data)
  const token: Token = {
    ...keptTerms(defaultParameters),
    type: 'batch',
    hash: '',
    path: 'drill',
    displayName: 'drill',
    policies: [policy],
    meta: null,
    depth: 0,
    renewable: false,
    createdAt: clock.now(),
    ttl: DRILL_TOKEN_TTL_SECONDS,
    creationTtl: DRILL_TOKEN_TTL_SECONDS,
  }
  return (await issueBatch(token, cipher)).text
}
