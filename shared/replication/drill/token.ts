import type { Token } from '../../model/token.ts'
import { key } from '../../storage/kinds.ts'
import { issueBatchToken } from '../../tokens/mint.ts'
import { defaultTokenParameters, pickTokenTerms } from '../../tokens/parameters.ts'
import type { DrillRun } from './run.ts'

/** Lifetime of a step's token in seconds; every step gets a new one. */
const DRILL_TOKEN_TTL_SECONDS = 1800

/**
 * Issues a batch token for one step of a drill. Both clusters accept the drill's token, because they share the
 * keyring. The token has the rights of the drill's policy; if that policy does not exist, the token has no rights.
 * The drill's token is not stored.
 */
export async function issueDrillToken({
  ports: { cipher, clock, store },
  policy,
}: DrillRun): Promise<string> {
  const [record] = await store.read([key('cluster')])
  if (record) cipher.expectKeyring(record.data)
  const token: Token = {
    ...pickTokenTerms(defaultTokenParameters),
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
  return (await issueBatchToken(token, cipher)).text
}
