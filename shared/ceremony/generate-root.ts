import { makeTokenText } from '../model/token.ts'
import { issueService } from '../tokens/mint.ts'
import { rootToken } from '../tokens/root-token.ts'
import { createCeremony } from './attempt.ts'

/** The handlers of sys/generate-root, which create a root token. */
export const rootCeremony = createCeremony({
  purpose: 'root',
  make: ({ now, ports: { entropy } }) => issueService(rootToken(now), makeTokenText(entropy.bytes)),
})
