import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createLinkHandler } from '../../shared/http/link.ts'
import { linkUses } from '../../shared/link/routes.ts'

export const handler = createLinkHandler(createAwsPorts('link', linkUses))
