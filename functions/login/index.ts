import { readEnvironment } from '../../shared/adapters/aws/environment.ts'
import { loginGroup } from '../../shared/endpoints/login.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(loginGroup)

const { webEndpoint } = readEnvironment()
// a Web Function is an HTTP server itself and runs the same handler
if (webEndpoint) {
  const { serveWebFunction } = await import('../../shared/front/web-function.ts')
  await serveWebFunction(handler, webEndpoint)
}
