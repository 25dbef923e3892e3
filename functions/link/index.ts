import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { linkHandler } from '../../shared/http/link.ts'
import { linkUses } from '../../shared/link/routes.ts'

export const handler = linkHandler(awsPorts('link', linkUses))
