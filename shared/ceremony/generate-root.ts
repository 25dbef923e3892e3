import { generateServiceTokenText } from '../model/token.ts'
import { issueServiceToken } from '../tokens/mint.ts'
import { createRootToken } from '../tokens/root-token.ts'
import { createCeremonyHandlers } from './attempt.ts'

/** The handlers of sys/generate-root, which create a root token. */
export const generateRootCeremony = createCeremonyHandlers({
  purpose: 'root',
  make: ({ now, ports: { entropy } }) =>
    issueServiceToken(createRootToken(now), generateServiceTokenText(entropy.bytes)),
})
