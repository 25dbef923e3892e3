import type { Server } from 'node:http'
import { answerControl } from './control.ts'
import { answerMetadata } from './services/imds.ts'
import { answerSignedCall } from './services/signed-call.ts'
import type { ImitatedAws } from './state/imitated-aws.ts'
import { serverOf } from './wire/server.ts'

/** The HTTP server of all services of the imitated AWS; not listening yet. */
export const createProviderServer = (aws: ImitatedAws): Server =>
  serverOf(
    aws,
    (request, connection) =>
      answerControl(aws, request) ??
      (aws.arranged.connections.lives(connection)
        ? (answerMetadata(aws, request) ?? answerSignedCall(aws, request))
        : Promise.resolve('reset')),
  )
