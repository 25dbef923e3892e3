import { readEnvironment } from '../../shared/adapters/aws/environment.ts'
import { loginGroup } from '../../shared/endpoints/login.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(loginGroup)

const { webEndpoint } = readEnvironment()
// the same handler behind another front: as a Web Function it is an HTTP server of its own
if (webEndpoint) {
  const { serveWebFunction } = await import('../../shared/front/web-function.ts')
  await serveWebFunction(handler, webEndpoint)
}
