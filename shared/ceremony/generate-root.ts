import { generateServiceTokenText } from '../model/token.ts'
import { issueService } from '../tokens/mint.ts'
import { rootToken } from '../tokens/root-token.ts'
import { createCeremonyHandlers } from './attempt.ts'

/** The handlers of sys/generate-root, which create a root token. */
export const generateRootCeremony = createCeremonyHandlers({
  purpose: 'root',
  make: ({ now, ports: { entropy } }) =>
    issueService(rootToken(now), generateServiceTokenText(entropy.bytes)),
})
